#!/usr/bin/env python3
"""Puts real IDL through this generator, Apache's compiler and thriftgo, and prints the results.

    testing/idl-corpus/real/collect.py [folder [source...]]

The files come out of the packages in packages.tsv, which are fetched with the clients of their
registries (go, cargo, pip, npm, mvn) into the folder (target/real-idl), and out of the sources:
folders or archives, such as a repository's working tree. `thrift` and `thriftgo` are asked if they
are on the PATH. Every file is a root of its own, with its folder and those above it
in its package to search for includes; equal files of one name count once. Accepted files are then
type-checked, all of it in one crate.
"""

import collections
import hashlib
import itertools
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[2]
THRIFT = ROOT / "crates/breezeway-thrift"


def run(*command, **options):
    return subprocess.run(command, capture_output=True, text=True, **options)


def done(*command, **options):
    """Returns the output of a command; its failure ends the program."""
    result = run(*command, **options)
    if result.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}:\n{result.stdout}{result.stderr}")
    return result.stdout


def packages():
    lines = (HERE / "packages.tsv").read_text().splitlines()
    return [line.split("\t") for line in lines if not line.startswith("#")]


# ---- one function per registry: the package as a folder or an archive ----


def go(name, version, _):
    return json.loads(done("go", "mod", "download", "-json", f"{name}@{version}"))["Dir"]


def crates(name, version, into):
    """cargo has no download of one crate: a package that depends on it is fetched."""
    (into / "src").mkdir()
    (into / "src/lib.rs").write_text("")
    (into / "Cargo.toml").write_text(
        f'[package]\nname = "fetch"\nedition = "2024"\n[workspace]\n'
        f'[dependencies]\n{name} = {{ version = "={version}", default-features = false }}\n'
    )
    done("cargo", "fetch", cwd=into)
    found = json.loads(done("cargo", "metadata", "--format-version=1", "--offline", cwd=into))
    manifests = [each["manifest_path"] for each in found["packages"] if each["name"] == name]
    return pathlib.Path(manifests[0]).parent


def pypi(name, version, into):
    """The wheel, which nothing need be built for; the source if there is none."""
    done("pip", "download", "--quiet", "--no-deps", "-d", into, f"{name}=={version}")
    return only(into)


def pypi_source(name, version, into):
    """Tests are in the source only. Its build tools come as wheels, or pip would compile them."""
    source = ["--no-deps", "--no-binary", name, "-d", into]
    done("pip", "download", "--quiet", *source, f"{name}=={version}")
    return only(into)


def npm(name, version, into):
    done("npm", "pack", "--silent", f"{name}@{version}", cwd=into)
    return only(into)


def maven(name, version, into):
    copy = "org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy"
    artifact = f"-Dartifact={name}:{version}"
    done("mvn", "-q", copy, artifact, f"-DoutputDirectory={into}", cwd=into)
    return only(into)


def only(folder):
    return next(path for path in folder.iterdir() if path.is_file())


def extract(package, into):
    """Copies the .thrift files of a folder or an archive, with their paths."""
    package = pathlib.Path(package)
    if package.is_dir():
        files = {path.relative_to(package): path.read_bytes() for path in package.rglob("*.thrift")}
    elif zipfile.is_zipfile(package):
        with zipfile.ZipFile(package) as archive:
            names = [name for name in archive.namelist() if name.endswith(".thrift")]
            files = {name: archive.read(name) for name in names}
    else:
        with tarfile.open(package) as archive:
            members = [each for each in archive if each.name.endswith(".thrift") and each.isfile()]
            files = {each.name: archive.extractfile(each).read() for each in members}
    for name, text in files.items():
        path = (into / name).resolve()
        if not path.is_relative_to(into.resolve()):
            sys.exit(f"{package}: {name} leads out of the package")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text)


def collect(folder):
    """The packages' files, fetched unless they are there."""
    for registry, name, version, licence in packages():
        place = folder / "files" / f"{registry}-{re.sub('[^A-Za-z0-9.-]', '_', name)}"
        if not place.exists():
            fetched = folder / "fetched"
            shutil.rmtree(fetched, ignore_errors=True)
            fetched.mkdir(parents=True)
            package = globals()[registry.replace("-", "_")](name, version, fetched)
            part = place.with_suffix(".part")
            extract(package, part)
            part.rename(place)
        yield f"{registry}: {name} {version} | {licence}", place


def given(folder, sources):
    """The files of the sources that were named, extracted again each time."""
    shutil.rmtree(folder / "files/given", ignore_errors=True)
    for number, source in enumerate(map(pathlib.Path, sources)):
        # Numbered, as two sources may have one name.
        place = folder / "files/given" / f"{number}-{source.name}"
        place.mkdir(parents=True)
        extract(source, place)
        yield f"given: {source.name} |", place


def without_repetitions(found):
    seen = set()
    for name, place in found:
        files = []
        for path in sorted(place.rglob("*.thrift")):
            key = path.name, hashlib.sha256(path.read_bytes()).digest()
            if key not in seen:
                seen.add(key)
                files.append(path)
        yield name, place, files


# ---- results of the three generators ----


def search(path, place):
    above = [path.parent]
    while above[-1] != place:
        above.append(above[-1].parent)
    return [argument for folder in above[1:] for argument in ("-I", folder)]


def ours(breezeway, path, place, out):
    result = run(breezeway, "gen", path, *search(path, place), "--out", out)
    return None if result.returncode == 0 else result.stderr.strip()


def theirs(program, generator, path, place, out):
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir(parents=True)
    option = {"thrift": "-I", "thriftgo": "-i"}[program]
    includes = [option if each == "-I" else each for each in search(path, place)]
    result = run(program, *includes, *generator, "-o", out, path)
    words = (result.stdout + result.stderr).strip()
    return None if result.returncode == 0 else words or "ends without a word"


def apache(path, place, out):
    return theirs("thrift", ["--gen", "rs"], path, place, out)


def thriftgo(path, place, out):
    return theirs("thriftgo", ["-g", "go"], path, place, out)


# So many texts are one crate to check: all of them together take rustc more than 12 GB.
CRATE = 60


def check(folder, texts):
    """Type-checks the texts as modules of some crates; the errors and the warnings by text."""
    errors, warnings = collections.defaultdict(list), collections.defaultdict(list)
    for start in range(0, len(texts), CRATE):
        check_crate(folder, texts[start:start + CRATE], errors, warnings)
    return errors, warnings


def check_crate(folder, texts, errors, warnings):
    shutil.rmtree(folder / "src", ignore_errors=True)
    (folder / "src").mkdir(parents=True)
    (folder / "Cargo.toml").write_text(
        '[package]\nname = "real"\nedition = "2024"\n[workspace]\n'
        f'[dependencies]\nbreezeway-thrift = {{ path = "{THRIFT}" }}\n'
    )
    modules = []
    for number, text in enumerate(texts):
        shutil.copy(text, folder / f"src/m{number}.rs")
        modules.append(f"pub mod m{number};\n")
    (folder / "src/lib.rs").write_text("".join(modules))
    output = run("cargo", "check", "--message-format=json", cwd=folder)
    any_error = False
    for line in output.stdout.splitlines():
        message = json.loads(line).get("message") or {}
        for span in message.get("spans", []):
            name = re.fullmatch(r"src/m(\d+)\.rs", span["file_name"])
            if name and span["is_primary"]:
                any_error |= message["level"] == "error"
                kind = errors if message["level"] == "error" else warnings
                kind[texts[int(name[1])]].append(message["message"])
    if output.returncode != 0 and not any_error:
        sys.exit(output.stderr)


def main():
    folder = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ROOT / "target/real-idl").resolve()
    done("cargo", "build", "--quiet", "-p", "breezeway-cli", cwd=ROOT)
    target = json.loads(done("cargo", "metadata", "--format-version=1", "--no-deps", cwd=ROOT))
    breezeway = pathlib.Path(target["target_directory"]) / "debug/breezeway"
    programs = [("thrift", apache), ("thriftgo", thriftgo)]
    asked = [ask for program, ask in programs if shutil.which(program)]
    shutil.rmtree(folder / "rust", ignore_errors=True)
    (folder / "rust").mkdir(parents=True)
    found = itertools.chain(collect(folder), given(folder, sys.argv[2:]))
    rows, texts, said = [], {}, {}
    for name, place, files in without_repetitions(found):
        rows.append((name, files))
        for path in files:
            text = folder / "rust" / f"m{len(said)}.rs"
            said[path] = {"breezeway": ours(breezeway, path, place, text)}
            if said[path]["breezeway"] is None:
                texts[path] = text
            for each in asked:
                said[path][each.__name__] = each(path, place, folder / "out")
    errors, warnings = check(folder / "check", list(texts.values()))
    report(rows, texts, said, errors, warnings, folder, [each.__name__ for each in asked])


def report(rows, texts, said, errors, warnings, folder, asked):
    print("| package | licence | files | accepted | compiled |", *(f"{each} |" for each in asked))
    print("|---|---|---:|---:|---:|", *("---:|" for _ in asked))
    everything = [path for _, files in rows for path in files]
    for name, files in [*rows, ("all |", everything)]:
        accepted = [path for path in files if path in texts]
        compiled = [path for path in accepted if texts[path] not in errors]
        others = [sum(said[path][each] is None for path in files) for each in asked]
        print(f"| {name} | {len(files)} | {len(accepted)} | {len(compiled)} |",
              *(f"{count} |" for count in others))
    for path, words in said.items():
        place = path.relative_to(folder / "files")
        verdicts = {each: "accepts" if word is None else word for each, word in words.items()}
        if verdicts["breezeway"] != "accepts" or texts[path] in errors | warnings:
            print(f"\n{place}")
            for each, word in verdicts.items():
                print(f"  {each}: {word.replace(str(path.parent) + os.sep, '')[:300]}")
            for message in (errors[texts[path]] + warnings[texts[path]])[:3] if path in texts else []:
                print(f"  rustc: {message}")


if __name__ == "__main__":
    main()
