# Stands for a coding agent: it writes a file into its folder, and says so.
cat > /dev/null
mkdir -p notes
echo "Paris." > notes/france.md
echo '{"messages": [{"role": "assistant", "content": "I noted Paris."}]}'
