package schema

// A Role is a task that a model has in a run besides being the target.
type Role string

// The roles of models.
const (
	Judge     Role = "judge"
	Simulator Role = "simulator"
	Extractor Role = "extractor"
	Embedder  Role = "embedder" // turns texts into numbers
	// A Classifier assigns labels to texts, a Moderator finds harm in them.
	Classifier Role = "classifier"
	Moderator  Role = "moderator"
)

// An Evaluator turns a transcript into a measurement by its Spec, and a
// measurement into a score and a pass by its Rule.
type Evaluator struct {
	// Name is shown in reports; it is unique within the case.
	Name string
	// File is where the evaluator is configured; it is in no digest.
	File string
	// Weight is the share of the evaluator in the score of the case, ≥ 0.
	Weight float64
	// Spec describes the measurement. It belongs to the judgement digest J.
	Spec Spec
	// Rule interprets the measurement. It belongs to the decision digest D: changing it
	// needs no call.
	Rule Rule
	// Fallback marks an evaluator that no author wrote: checks take its place.
	Fallback bool `json:",omitempty"`
}

// A Spec describes the measurement of an evaluator. All fields that affect it are
// exported and encode as JSON.
type Spec interface {
	// Kind is the evaluator's type, such as keyword.
	Kind() string
	// Version increases whenever the evaluator's code or template changes the
	// measurement or the request.
	Version() int
	// Roles names the models that the evaluator may call for a sample, each as
	// often as it calls it.
	Roles() []Role
}

// A Rule turns the criteria of a measurement into a score in [0,1] and a pass.
//
// A measurement's score is the mean of its criteria's scores; when Need is
// set, min(1, Σ scores / Need). A violated veto makes it 0 and fails it. The
// evaluator passes when the mean over the samples reaches Threshold, compared
// after rounding to 1e-9.
type Rule struct {
	// Need is how many criteria must be met for the full score; 0 means all.
	Need int `json:"need,omitempty"`
	// Threshold is the least score that passes, in [0,1].
	Threshold float64 `json:"threshold"`
	// Weights of criteria by id; a criterion that is not listed weighs 1.
	Weights map[string]float64 `json:"weights,omitempty"`
	// Required lists the criteria whose failure fails the evaluator.
	Required []string `json:"required,omitempty"`
	// Unanimous asks for Required in every sample; else in more than half.
	Unanimous bool `json:"unanimous,omitempty"`
	// Ungated marks a Threshold of 0 that no author wrote, which reports mention.
	Ungated bool `json:"ungated,omitempty"`
	// Least are the scores in [0,1] that required criteria must reach; others must be met.
	Least map[string]float64 `json:"least,omitempty"`
	// Most are the largest values of criteria that measure a quantity: one
	// scores 1 up to it, else 0.
	Most map[string]float64 `json:"most,omitempty"`
	// Aggregate is how the scores of the criteria are combined. Empty means their
	// weighted mean, and then Need.
	Aggregate Aggregate `json:"aggregate,omitempty"`
	// Gate is the least score in [0,1] of a criterion that holds: of every one
	// under AllOrNothing, of the required ones under SafetyGate. 0 means the
	// full score under AllOrNothing.
	Gate float64 `json:"gate,omitempty"`
	// Floor fails the case if the evaluator scores below it.
	Floor float64 `json:"floor,omitempty"`
	// NonZero fails the case if the evaluator scores 0, whatever the others' scores.
	NonZero bool `json:"non_zero,omitempty"`
	// Zeroes makes the score of the case 0 if a demand of the evaluator does not hold.
	Zeroes bool `json:"zeroes,omitempty"`
	// Weightless makes the score of the case 0, since no evaluator of it has a weight, as
	// promptfoo does. The evaluators then have equal weights, for those who show them.
	Weightless bool `json:"weightless,omitempty"`
	// Negate replaces a score by 1 minus the score, before it is compared.
	Negate bool `json:"negate,omitempty"`
	// Contained makes the score 0 if a demand does not hold, without any other effect.
	Contained bool `json:"contained,omitempty"`
}

// An Aggregate combines several scores.
type Aggregate string

const (
	// Minimum takes the lowest score.
	Minimum Aggregate = "minimum"
	// Maximum takes the highest score.
	Maximum Aggregate = "maximum"
	// AllOrNothing is the weighted mean if every criterion holds, else 0.
	AllOrNothing Aggregate = "all_or_nothing"
	// SafetyGate is the weighted mean, and 0 if a required criterion does not hold,
	// which also fails the case.
	SafetyGate Aggregate = "safety_gate"
	// Passing is the share of criteria that hold.
	Passing Aggregate = "passing"
)
