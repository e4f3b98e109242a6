# What the tests of the programs have in common; to be sourced when `programs` is the folder of the programs.
# Sets `backend`, the fastest one that is built, and `failures`, the number of complaints.

backend=reference
compgen -G "$programs/../lib/attn/backends/libattn-backend-eigen*.so" >/dev/null && backend=eigen

failures=0
complain() {
    printf 'FAILED: %s\n' "$1" >&2
    failures=$((failures + 1))
}

# same FOUND EXPECTED WHAT
same() {
    [[ $1 == "$2" ]] || complain "$3: found '$1', expected '$2'"
}

# says TEXT WHAT: whether the file stderr holds the text
says() {
    grep -qF -- "$1" stderr || complain "$2 does not say '$1' but: $(cat stderr)"
}
