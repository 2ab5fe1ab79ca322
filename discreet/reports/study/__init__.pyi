from .store import read_results as read_results
