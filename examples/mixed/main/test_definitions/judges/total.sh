# Adds the order up and looks for the sum in the answer. It is told the
# conversation as JSON on stdin and prints its judgement as JSON.
total=$(awk -F, 'NR > 1 { sum += $2 * $3 } END { printf "%.2f", sum }' fixtures/order.csv)
if grep -q "\"candidate_answer\":\"[^\"]*$total"; then
	echo "{\"score\": 1, \"reasoning\": \"The answer names $total.\"}"
else
	echo "{\"score\": 0, \"reasoning\": \"The order costs $total.\"}"
fi
