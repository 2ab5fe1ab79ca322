"""The paper's numerical section, computed again: `study` its numbers, `pictures` its figures, `page` the rest.

Source: E. Nekouei, H. Sandberg, M. Skoglund, K. H. Johansson, "Privacy-aware Minimum Error Probability Estimation: An
Entropy Constrained Approach", numerical section.
"""
