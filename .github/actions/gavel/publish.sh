#!/usr/bin/env bash
# Puts the action where `uses: gavel-evals/gavel@v1` finds it: a commit on top of
# the release, whose action.yml is at the top and which knows the digests of the
# archives. The branches stay as they are.
#
# Usage: publish.sh CHECKSUMS, in the checkout of a tag such as v1.2.3. It pushes
# the tags v1 and v1.2.3-action with the token in GITHUB_TOKEN.
set -euo pipefail
checksums=$(realpath "$1")
tag=${GITHUB_REF_NAME:?the tag of the release}
major=${tag%%.*}
url=$GITHUB_SERVER_URL/$GITHUB_REPOSITORY
cd "$(git rev-parse --show-toplevel)"

cp .github/actions/gavel/action.yml action.yml
while read -r digest name; do
	case $name in *.tar.gz) echo "$digest $url/releases/download/$tag/$name" ;; esac
done <"$checksums" >.github/actions/gavel/archives.txt
[ -s .github/actions/gavel/archives.txt ] || { echo "$1 names no archive" >&2; exit 1; }

git add -f action.yml .github/actions/gavel/archives.txt
git -c user.name=gavel -c user.email=gavel@users.noreply.github.com commit -q -m "action: $tag"
# A release candidate does not become what v1 means.
refs=(HEAD:"refs/tags/$tag-action")
case $tag in *-*) ;; *) refs+=(+HEAD:"refs/tags/$major") ;; esac
git -c "http.extraHeader=Authorization: Basic $(printf 'x-access-token:%s' "$GITHUB_TOKEN" | base64 -w0)" push -q "${PUSH_TO:-$url}" "${refs[@]}"
