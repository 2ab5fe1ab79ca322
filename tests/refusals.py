"""What tests of a refusal assert: the type of the error, words of its message, and that the message
is one line of less than 400 characters.
"""

from contextlib import contextmanager
from functools import partial

import pytest

from discreet.errors import FileError, InputError


@contextmanager
def _raises(kind, words):
    with pytest.raises(kind, match=words) as caught:
        yield caught
    message = str(caught.value)
    assert "\n" not in message
    assert len(message) < 400


raises_input_error = partial(_raises, InputError)
raises_file_error = partial(_raises, FileError)
