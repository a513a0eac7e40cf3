package portal

import (
	"net/http"

	"github.com/gavel-evals/gavel/controller/dashboard/access"
)

// A signBody is the page on which people sign in and out.
type signBody struct {
	Name, Token, Field, Path string
	IsWrong                  bool
}

// signPage shows who is signed in.
func (p *portal) signPage(w http.ResponseWriter, r *http.Request) {
	p.signed(w, r, http.StatusOK, false)
}

func (p *portal) signed(w http.ResponseWriter, r *http.Request, status int, isWrong bool) {
	body := signBody{Token: access.FormToken(w, r), Field: access.FormField, Path: signPath, IsWrong: isWrong}
	if u := access.UserOf(r); u != nil {
		body.Name = u.Name
	}
	p.write(w, r, view{Template: "sign", Title: "Sign in", Status: status, Body: body})
}

// signIn begins a session.
func (p *portal) signIn(w http.ResponseWriter, r *http.Request) {
	u := p.cfg.Gate.UserWithToken(r.PostForm.Get("token"))
	if u == nil {
		p.signed(w, r, http.StatusForbidden, true)
		return
	}
	p.cfg.Gate.Begin(w, r, u)
	http.Redirect(w, r, "/", http.StatusSeeOther)
}

// signOut ends the session.
func (p *portal) signOut(w http.ResponseWriter, r *http.Request) {
	p.cfg.Gate.End(w, r)
	http.Redirect(w, r, "/", http.StatusSeeOther)
}
