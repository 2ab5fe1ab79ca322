from .interactive import IS_REPORT as IS_REPORT
from .interactive import report_numbers as report_numbers
from .interactive import report_page as report_page
from .interactive import write_report as write_report
