# Answers every turn with the same text and tokens.
cat > /dev/null
echo '{"messages": [{"role": "assistant", "content": "Paris."}], "usage": {"input_tokens": 40, "output_tokens": 2}}'
