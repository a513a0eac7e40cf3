package sandbox

import (
	"strings"
	"testing"
)

// longTraceback is of Python 3.11, with the frames of a library above the error.
const longTraceback = `Traceback (most recent call last):
  File "/srv/shop/agent.py", line 6, in <module>
    print(ask())
          ^^^^^
  File "/srv/shop/lib/model.py", line 4, in ask
    return urllib.request.urlopen("http://example.com").read()
           ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  File "/usr/lib/python3.11/urllib/request.py", line 1351, in do_open
    raise URLError(err)
urllib.error.URLError: <urlopen error [Errno -3] Temporary failure in name resolution>
`

// TestEnding: an error ends with what happened, however long the traceback above it is.
func TestEnding(t *testing.T) {
	for _, tt := range []struct{ name, stderr, want string }{
		{"a traceback", "warming up\n" + longTraceback, "urllib.error.URLError: <urlopen error [Errno -3] Temporary failure in name resolution> (lib/model.py:4)"},
		{"two, the second while the first was handled", longTraceback + "\nDuring handling of the above exception, another exception occurred:\n\n" +
			"Traceback (most recent call last):\n  File \"/srv/shop/agent.py\", line 9, in <module>\n    raise Gone(\"no answer\")\n__main__.Gone: no answer\n", "__main__.Gone: no answer (agent.py:9)"},
		{"an error of two lines", strings.Replace(longTraceback, "name resolution>", "name resolution>\nsee the log", 1), "Temporary failure in name resolution> see the log (lib/model.py:4)"},
		{"frames of others alone", "Traceback (most recent call last):\n  File \"<frozen os>\", line 679, in __getitem__\nKeyError: 'A_KEY'\n", "KeyError: 'A_KEY'"},
		{"lines that point at a place", "answer(\n   ~~~^^\nSyntaxError: the end\n", "answer( SyntaxError: the end"},
		{"lines", "one\n\x1b[31mtwo\n", "one [31mtwo"},
		{"many lines", strings.Repeat("begin ", 200) + "\nError: the end\n", "begin Error: the end"},
		{"nothing", " \n", ""},
	} {
		got := ending(tt.stderr, "/srv/shop")
		if !strings.HasSuffix(got, tt.want) || len(got) > shownStderr+len("…")+40 || tt.want == "" && got != "" {
			t.Errorf("%s: the ending is %q, want %q", tt.name, got, tt.want)
		}
	}
}

// TestAdvice: a failed program's message has the setting that it needs, and no other.
func TestAdvice(t *testing.T) {
	const network, read, module = "--sandbox-network allows it", "--sandbox-read shows it more", "--sandbox-path and --sandbox-read"
	for _, tt := range []struct {
		name, stderr string
		box          Box
		want         string
	}{
		{"a name", longTraceback, Box{}, network},
		{"an address", "urllib.error.URLError: <urlopen error [Errno 1] Operation not permitted>", Box{}, network},
		{"node", "[cause]: Error: getaddrinfo EAI_AGAIN example.com", Box{}, network},
		{"curl", "curl: (6) Could not resolve host: example.com", Box{}, network},
		{"a client of OpenAI", "openai.APIConnectionError: Connection error.", Box{}, network},
		{"the network is allowed", longTraceback, Box{policy: Policy{Network: true}}, ""},
		{"no sandbox", longTraceback, Box{mode: Off}, ""},
		{"a file of the machine", "FileNotFoundError: [Errno 2] No such file or directory: '/opt/models/x.bin'", Box{}, read},
		{"a file of the repository", "FileNotFoundError: [Errno 2] No such file or directory: '/srv/shop/x.bin'", Box{}, ""},
		{"a relative file", "FileNotFoundError: [Errno 2] No such file or directory: 'x.bin'", Box{}, ""},
		{"node's file", "Error: ENOENT: no such file or directory, open '/opt/x'", Box{}, read},
		{"a module of Python", "ModuleNotFoundError: No module named 'requests'", Box{}, module},
		{"a module of node", "Error: Cannot find module 'openai'", Box{}, module},
		{"nobody answers at an address", "ConnectionRefusedError: [Errno 111] Connection refused", Box{}, ""},
		{"another error", "ValueError: 7", Box{}, ""},
		{"a refused chmod", "PermissionError: [Errno 1] Operation not permitted: 'x'", Box{}, ""},
	} {
		if got := tt.box.advice(Program{Tree: "/srv/shop"}, tt.stderr); !strings.Contains(got, tt.want) || tt.want == "" && got != "" {
			t.Errorf("%s: the advice is %q, want %q", tt.name, got, tt.want)
		}
	}
	// An agent that Gavel starts has an interface of its own, where nobody else answers.
	if got := (&Box{}).advice(Program{port: 8080}, "connect ECONNREFUSED 127.0.0.1:5432"); !strings.Contains(got, network) {
		t.Errorf("the advice to a started agent is %q, want %q", got, network)
	}
}
