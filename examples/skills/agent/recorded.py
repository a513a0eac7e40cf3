# Plays what a coding agent did. The runs were written by hand: no model was asked.
import json, os, re, sys

prompt = json.load(sys.stdin)["messages"][-1]["content"]
skills = {}
for name in sorted(os.listdir(".claude/skills")) if os.path.isdir(".claude/skills") else []:
    with open(f".claude/skills/{name}/SKILL.md") as f:
        skills[name] = f.read()


def call(number, tool, **arguments):
    function = {"name": tool, "arguments": json.dumps(arguments)}
    return {"role": "assistant", "content": "", "tool_calls": [{"id": f"call-{number}", "type": "function", "function": function}]}


def result(number, text):
    return {"role": "tool", "tool_call_id": f"call-{number}", "content": text}


def says(text):
    return {"role": "assistant", "content": text}


def loads(name):
    return [call(1, "Skill", skill=name), result(1, skills[name])]


if "entry of version" in prompt:
    version = re.search(r"version (\S+):", prompt)[1]
    change = prompt.split(": ", 1)[1]
    if "changelog" in skills:
        run = loads("changelog") + [says(f"## {version}\n\n- {change[0].upper()}{change[1:]}")]
    else:
        run = [says(f"Version {version}: {change}")]
elif "sales.csv" in prompt:
    with open("sales.csv") as f:
        march = sum(int(line.split(",")[1]) for line in f if line.startswith("March"))
    if "sales-report" in skills:
        with open("report.md", "w") as f:
            f.write(f"# Sales\n\nMarch sold most: the total of March is {march}.\n")
        run = loads("sales-report") + [call(2, "Write", file_path="report.md"), result(2, "ok"), says(f"I wrote report.md: the total of March is {march}.")]
    else:
        run = [says("March sold most.")]
elif "commit" in prompt and "commit-message" in skills:
    run = loads("commit-message") + [says("Speed up the export")]
else:
    run = [says("I did that without a skill.")]
print(json.dumps({"messages": run}))
