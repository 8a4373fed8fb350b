from __future__ import annotations

from latecomer.errors import UpdateError, listed, redacted


def failing(secret: str) -> int:
    return int(secret)


def raised(error: type[Exception]) -> Exception:
    try:
        try:
            failing("secret")
        except ValueError as inner:
            raise error("it was given secret") from inner
    except error as outer:
        return outer


def test_a_redacted_error_says_what_failed_where_and_nothing_of_the_data() -> None:
    found = redacted(raised(UpdateError))

    assert type(found) is UpdateError
    assert "UpdateError from ValueError in failing, line " in str(found)
    assert "secret" not in str(found)
    assert "Hint: " in str(found)


def test_any_other_error_becomes_a_runtime_error_with_its_name() -> None:
    found = redacted(raised(KeyError))

    assert type(found) is RuntimeError
    assert "KeyError from ValueError in failing" in str(found)


def test_an_error_that_was_never_raised_has_no_place() -> None:
    assert "UpdateError; the rest is withheld" in str(redacted(UpdateError("secret")))


def test_names_are_quoted_and_separated_by_commas() -> None:
    assert listed(["a", "b c"]) == '"a", "b c"'
    assert listed([]) == ""
