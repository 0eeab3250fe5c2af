"""Lists the files of a checkout or of an unpacked archive, for the checks of this folder."""
import pathlib
import subprocess


def files_of(root):
    """Returns the names of files below root, sorted: those that git lists, or, without git, all outside hidden folders
    and builds."""
    listed = subprocess.run(["git", "-C", root, "ls-files", "-z"], capture_output=True, check=False).stdout.decode()
    names = [n for n in listed.split("\0") if n] or [
        str(p.relative_to(root)) for p in pathlib.Path(root).rglob("*")
        if not p.relative_to(root).parts[0].startswith((".", "build"))]
    return sorted(names)
