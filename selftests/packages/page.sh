# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# The commands of a page of docs/, as they stand there. A block is indented by four spaces, or fenced. The brackets
# of its heading name its hosts: "Lend the drive (A)".

pages=$(cd "$(dirname "${BASH_SOURCE[0]}")/../../docs" && pwd)

# page_lines PAGE: each line of a command, with its heading before it and a tab between.
page_lines() {
	awk '/^```/ { fence = !fence; next }
		!fence && /^##+ / { heading = $0; sub(/^#+ /, "", heading); next }
		fence { print heading "\t" $0 }
		!fence && /^    / { print heading "\t" substr($0, 5) }' "$pages/$1.md"
}
# page_block PAGE HEADING: the commands below a heading, which is given without its brackets.
page_block() {
	page_lines "$1" | awk -F '\t' -v h="$2" '{ bare = $1; sub(/ \([^()]*\)$/, "", bare) } bare == h { sub(/^[^\t]*\t/, ""); print; n++ } END { exit !n }'
}
# page_hosts PAGE HEADING: the text in its brackets: "A", "both", "all, optional".
page_hosts() { page_lines "$1" | sed -n 's/\t.*//p' | awk -v h="$2" '{ bare = $0; sub(/ \([^()]*\)$/, "", bare) } bare == h { sub(/.*\(/, ""); sub(/\)$/, ""); print; exit }'; }
# page_variables PAGE NAME=VALUE…: the block "Variables" with values of one's own. Each name has to stand there.
page_variables() {
	local page=$1 text word; shift
	text=$(page_block "$page" Variables)
	for word in "$@"; do
		grep -q "^${word%%=*}=" <<< "$text" || { echo "docs/$page.md has no variable ${word%%=*}" >&2; return 1; }
		text=$(sed "/^${word%%=*}=/d" <<< "$text")
	done
	[ -z "$text" ] || { echo "docs/$page.md has variables without a value here: $text" >&2; return 1; }
	for word in "$@"; do printf '%s=%q\n' "${word%%=*}" "${word#*=}"; done
}
# page_done FILE PAGE HEADING; page_left FILE PAGE: the headings with commands that FILE doesn't have.
page_done() { printf '%s\t%s\n' "$2" "$3" >> "$1"; }
page_left() { page_lines "$2" | sed 's/\t.*//; s/ ([^()]*)$//' | uniq | while IFS= read -r heading; do grep -qxF "$2"$'\t'"$heading" "$1" || echo "$heading"; done; }
