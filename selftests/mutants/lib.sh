# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# The head of a mutant, for scripts/check-mutants and selftests/harness/mutants-apply. A mutant is a patch,
# selftests/mutants/NAME.patch, and above its diff stands:
#
#   Bug: one sentence that names the defect.
#   Killed-by: TOPOLOGY SUBJECT/TEST      fails on a cluster of that topology; several such lines: each of them fails
#   Killed-by: unit NAME                  a unit test, by its name in CMakeLists.txt
#
# killed, beside them, is the record: NAME, the last day on which it was killed, the tests, and their messages.
#
# The diff has two lines of context, so that it applies after changes nearby. It changes drivers/ or userspace/.
mutants=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)

mutant_names() { (cd "$mutants" && printf '%s\n' *.patch | sed 's/\.patch$//'); }
mutant_bug() { sed -n '/^--- /q; s/^Bug: //p' "$mutants/$1.patch"; }
mutant_killers() { sed -n '/^--- /q; s/^Killed-by: //p' "$mutants/$1.patch"; }
mutant_files() { sed -n 's/^+++ b\///p' "$mutants/$1.patch"; }
# mutant_patch NAME FOLDER [--dry-run]: applies it to a copy of the checkout. The tree has busybox's patch.
mutant_patch() { (cd "$2" && busybox patch -p1 "${@:3}" < "$mutants/$1.patch" 2>&1); }

# mutant_wrong NAME: prints the errors of a mutant of this checkout, if it has any.
mutant_wrong() {
	local topology test more count=0
	[ "$(mutant_bug "$1" | grep -c '\.$')" = 1 ] || echo "no line 'Bug: …' of one sentence"
	while read -r topology test more; do
		count=$((count + 1))
		if [ "$topology" = unit ]; then
			grep -Erqs --include=CMakeLists.txt "^smartio_test\\($test( |$)" userspace || echo "there is no unit test $test"
		else
			[ -e "selftests/topologies/$topology.toml" ] || echo "there is no topology $topology"
			[[ $test = */* && -f selftests/$test && -x selftests/$test ]] || echo "there is no test $test"
		fi
		[ -z "$more" ] || echo "more than a topology and a test: $more"
	done < <(mutant_killers "$1")
	[ $count -gt 0 ] || echo "no line 'Killed-by: …'"
	mutant_files "$1" | grep -v '^drivers/\|^userspace/' | sed 's/^/changes /' || true
	mutant_patch "$1" . --dry-run > /dev/null || echo "does not apply"
}

# mutant_unseen NAME: prints the tests of a mutant that the record does not have.
mutant_unseen() {
	local killer seen
	seen=$(grep "^$1 " "$mutants/killed" || true)
	mutant_killers "$1" | while read -r killer; do [[ $seen == *" $killer: "* ]] || printf 'was not seen to be killed by %s\n' "$killer"; done
}
