"""Where a store lies: files and databases of servers, and that no password is shown."""

from pathlib import Path

import pytest

from tertulia.storage.addresses import ServerAddress, argument_for, is_missing, store_address

PASSWORDS = (
    "postgresql://ada:s3cret@db.example:5432/talks",
    "postgres://ada:s3cret@db.example/talks?sslmode=require",
    "postgresql://db.example/talks?user=ada&password=s3cret",
    "postgresql://ada:s3cret%40home@[::1]:5432/talks#s3cret",
    "POSTGRESQL://ada:s3cret@db.example/talks?Password=s3cret",
)


@pytest.mark.parametrize("url", PASSWORDS)
def test_no_password_is_shown(url: str) -> None:
    address = store_address(url)
    assert isinstance(address, ServerAddress)
    assert "s3cret" not in f"{address} {address!r} {[address]}"
    assert "talks" in str(address)
    assert argument_for(address) == url


def test_what_is_no_server_is_a_file() -> None:
    for given in ("tertulia.db", "C:postgresql", "postgresql", "./postgresql://", Path("postgresql:/x/y")):
        assert store_address(given) == Path(given)
    assert store_address(ServerAddress("postgresql://h/d")) == ServerAddress("postgresql://h/d")


def test_a_file_may_be_missing_and_a_server_is_asked(tmp_path: Path) -> None:
    assert is_missing(tmp_path / "none.db")
    assert not is_missing(tmp_path)
    assert not is_missing(ServerAddress("postgresql://127.0.0.1:1/none"))


def test_a_file_is_named_so_that_it_is_found_from_any_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert argument_for(Path("a.db")) == str(tmp_path / "a.db")
