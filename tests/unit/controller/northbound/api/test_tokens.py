from controller.northbound.api import tokens


def test_a_token_fits_its_hash_and_no_other() -> None:
    made, other = tokens.make(), tokens.make()
    identifier, secret = tokens.split(made.text) or ("", "")
    assert identifier == made.id and tokens.fits(secret, made.hash)
    assert not tokens.fits(secret, other.hash) and secret not in made.hash


def test_hashes_are_salted() -> None:
    first, second = tokens.make("0" * 12), tokens.make("0" * 12)
    assert first.id == second.id and first.hash.split("$")[1] != second.hash.split("$")[1]


def test_what_is_no_token_has_no_parts() -> None:
    text = tokens.make().text
    for bad in ("", "oc_", text[:-1], text + "0", text.upper(), text + "\n", " " + text, text.replace("oc_", "oc-")):
        assert tokens.split(bad) is None


def test_a_hash_of_another_kind_fits_nothing() -> None:
    _, secret = tokens.split(tokens.make().text) or ("", "")
    for kept in ("", "sha256", "sha256$$", "md5$00$00", "sha256$zz$00", "sha256$\u00e9", "scrypt$00$00"):
        assert not tokens.fits(secret, kept)
