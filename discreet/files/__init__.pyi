from .mapped import map_problem as map_problem
from .mapped import write_blocks as write_blocks
from .records import StoredSolution as StoredSolution
from .records import load_problem as load_problem
from .records import load_solution as load_solution
from .records import save_problem as save_problem
from .records import save_solution as save_solution
