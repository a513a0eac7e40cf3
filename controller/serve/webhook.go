package serve

import (
	"github.com/gavel-evals/gavel/controller/config"
	"github.com/gavel-evals/gavel/controller/forge"
)

// WebhookSecrets are those that deliveries may be signed with, none where the
// file has no webhook: the one before is taken while it is replaced.
func (o *Operator) WebhookSecrets() ([]forge.Token, error) {
	hook := o.current().Webhook
	if hook == nil {
		return nil, nil
	}
	secret, err := o.Secret("webhook", hook.Secret)
	if err != nil {
		return nil, err
	}
	secrets := []forge.Token{forge.Token(secret)}
	if hook.Previous == (config.Secret{}) {
		return secrets, nil
	}
	before, err := o.Secret("webhook, the secret before", hook.Previous)
	return append(secrets, forge.Token(before)), err
}
