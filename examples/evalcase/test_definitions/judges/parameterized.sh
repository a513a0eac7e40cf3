# Looks whether the SQL in the review takes the name as a parameter. It is told
# the conversation as JSON on stdin, and prints its judgement as JSON. It may
# read the repository, and has no network and none of your environment.
answer=$(cat)
case $answer in
*'"candidate_answer":"'*'WHERE name = ?'*)
	echo '{"score": 1, "hits": ["WHERE name = ?"], "reasoning": "The name is a parameter of the statement."}' ;;
*)
	echo '{"score": 0, "misses": ["WHERE name = ?"], "reasoning": "The name is not passed as a parameter."}' ;;
esac
