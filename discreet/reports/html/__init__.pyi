from .data import report_numbers as report_numbers
from .page import IS_REPORT as IS_REPORT
from .page import report_page as report_page
from .page import write_report as write_report
