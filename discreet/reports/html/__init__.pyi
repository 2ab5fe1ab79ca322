from .data import report_numbers as report_numbers
from .page import check_report_path as check_report_path
from .page import report_page as report_page
from .page import write_report as write_report
