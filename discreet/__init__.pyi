from . import backends as backends
from . import errors as errors
from . import files as files
from . import judge as judge
from . import measures as measures
from . import problems as problems
from . import reports as reports
from .backends.continuous.quantiser import design_quantiser as design_quantiser
from .backends.continuous.sampled import (
    estimate_continuous_by_samples as estimate_continuous_by_samples,
)
from .backends.contract import Options as Options
from .backends.exchange.files import export as export
from .backends.exchange.files import lift as lift
from .backends.run import audit as audit
from .backends.run import certify as certify
from .backends.run import solve as solve
from .backends.solution import Solution as Solution
from .backends.solution import Status as Status
from .errors import DiscreetError as DiscreetError
from .errors import FileError as FileError
from .errors import InputError as InputError
from .errors import InputWarning as InputWarning
from .files.records import load_problem as load_problem
from .files.records import load_solution as load_solution
from .files.records import save_problem as save_problem
from .files.records import save_solution as save_solution
from .people.classifier import PrivateClassifier as PrivateClassifier
from .people.counting import evaluate as evaluate
from .people.deployed import Rule as Rule
from .people.design import RuleDesign as RuleDesign
from .people.design import design_rule as design_rule
from .people.evaluation import Evaluation as Evaluation
from .people.folder import DeployedRule as DeployedRule
from .people.frontier import PeopleFrontier as PeopleFrontier
from .people.monitor import Monitor as Monitor
from .people.planning import Prospects as Prospects
from .people.planning import people_needed as people_needed
from .people.scorer import leakage_scorer as leakage_scorer
from .people.table_rule import TableRule as TableRule
from .problems.adversary.inference import inference as inference
from .problems.adversary.local_estimates import local_inference as local_inference
from .problems.blocks import BlockProblem as BlockProblem
from .problems.causal.model import CausalProblem as CausalProblem
from .problems.causal.rule import CausalRule as CausalRule
from .problems.certificate import Certificate as Certificate
from .problems.constraint import Constraint as Constraint
from .problems.continuous.model import ContinuousProblem as ContinuousProblem
from .problems.outcome_rules import OutcomeRule as OutcomeRule
from .problems.problem import Problem as Problem
from .problems.samples import FewRecordsWarning as FewRecordsWarning
from .reports.advice.choose import advise as advise
from .reports.curve import Frontier as Frontier
from .reports.curve import frontier as frontier
from .reports.progress import progress as progress
from .verification import verify as verify

__version__: str
