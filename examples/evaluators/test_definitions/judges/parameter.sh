# Looks whether the SQL in the answer takes the name as a parameter.
case $(cat) in
*'"candidate_answer":"'*'WHERE name = ?'*) echo '{"score": 1, "hits": ["WHERE name = ?"]}' ;;
*) echo '{"score": 0, "misses": ["WHERE name = ?"]}' ;;
esac
