"""Joins runs files of the same machine and versions into one: the processes of equal rows come one after the other."""

from .files import check_writable, write_json
from .runs import merged


def add_arguments(parser):
    parser.add_argument("files", nargs="+", metavar="FILE", help="runs files of PyTorch")
    parser.add_argument("-o", "--runs", metavar="FILE", required=True, help="the runs file to write")


def run(options):
    check_writable(options.runs, "-o")
    write_json(options.runs, merged(options.files, options.runs))
    return 0
