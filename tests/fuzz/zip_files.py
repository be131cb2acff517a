"""Damage to the parts of a zip archive, so that it is still an archive."""

import io
import zipfile

from fuzz.draw import pick
from fuzz.mutate import damage


def damage_zip(content, rng):
    """The archive with one part damaged, or missing."""
    file = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(content)) as old, zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as new:
        changed = pick(rng, [*old.namelist(), *(name for name in old.namelist() if "sheet" in name)])
        for name in old.namelist():
            data = old.read(name)
            if name == changed and rng.random() < 0.05:
                continue
            new.writestr(zipfile.ZipInfo(name), damage(data, rng) if name == changed else data)
    return file.getvalue()
