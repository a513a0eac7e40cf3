package provider

// A ResponsesRequest is a request of OpenAI's Responses API.
type ResponsesRequest struct {
	Model        string         `json:"model"`
	Instructions string         `json:"instructions,omitempty"`
	Input        []InputItem    `json:"input"`
	Tools        []Tool         `json:"tools,omitempty"`
	Text         map[string]any `json:"text,omitempty"`
	Temperature  *float64       `json:"temperature,omitempty"`
}

// An InputItem is a message, a function call or the output of one. A message
// has a role and no type.
type InputItem struct {
	Type      string              `json:"type,omitempty"`
	Role      string              `json:"role,omitempty"`
	Content   *Content[InputPart] `json:"content,omitempty"`
	CallID    string              `json:"call_id,omitempty"`
	Name      string              `json:"name,omitempty"`
	Arguments *string             `json:"arguments,omitempty"`
	Output    *Content[InputPart] `json:"output,omitempty"`
}

// An InputPart is a text or an image of a message or an output.
type InputPart struct {
	Type     string `json:"type"`
	Text     string `json:"text,omitempty"`
	Detail   string `json:"detail,omitempty"`
	ImageURL string `json:"image_url,omitempty"`
}

// A ResponsesReply is an answer of OpenAI's Responses API.
type ResponsesReply struct {
	Model  Text         `json:"model"`
	Status Text         `json:"status"`
	Output []OutputItem `json:"output"`
	Error  struct {
		Code    Text `json:"code"`
		Message Text `json:"message"`
	} `json:"error"`
	Incomplete struct {
		Reason Text `json:"reason"`
	} `json:"incomplete_details"`
	Usage struct {
		Input  Count `json:"input_tokens"`
		Output Count `json:"output_tokens"`
	} `json:"usage"`
}

// An OutputItem is a message, a function call, reasoning, or something that Gavel
// does not read.
type OutputItem struct {
	Type    Text `json:"type"`
	Content []struct {
		Text    Text `json:"text"`
		Refusal Text `json:"refusal"`
	} `json:"content"`
	// Summary is what the model says of its reasoning.
	Summary []struct {
		Text Text `json:"text"`
	} `json:"summary"`
	CallID    Text `json:"call_id"`
	Name      Text `json:"name"`
	Arguments Text `json:"arguments"`
}
