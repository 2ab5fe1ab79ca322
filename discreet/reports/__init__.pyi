from .compare import Case as Case
from .compare import Comparison as Comparison
from .compare import run_comparison as run_comparison
from .compare import write_comparison as write_comparison
from .measurements import Configuration as Configuration
from .measurements import Measurement as Measurement
from .statistics.agreement import Agreement as Agreement
