// A token endpoint of github.com/ory/fosite, with introspection (RFC 7662) and revocation (RFC 7009).
//
// PORT, LIFETIME (seconds) and CLIENTS ([{"id", "secret", "scope"}]) come from the environment.
package main

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"log"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/ory/fosite"
	"github.com/ory/fosite/compose"
	"github.com/ory/fosite/storage"
	"golang.org/x/crypto/bcrypt"
)

type client struct{ ID, Secret, Scope string }

func newStore() *storage.MemoryStore {
	var clients []client
	if err := json.Unmarshal([]byte(os.Getenv("CLIENTS")), &clients); err != nil {
		log.Fatal(err)
	}
	store := storage.NewMemoryStore()
	for _, one := range clients {
		hash, err := bcrypt.GenerateFromPassword([]byte(one.Secret), bcrypt.MinCost)
		if err != nil {
			log.Fatal(err)
		}
		store.Clients[one.ID] = &fosite.DefaultClient{
			ID: one.ID, Secret: hash, Scopes: strings.Fields(one.Scope), GrantTypes: []string{"client_credentials"},
		}
	}
	return store
}

func main() {
	lifetime, err := time.ParseDuration(os.Getenv("LIFETIME") + "s")
	if err != nil {
		log.Fatal(err)
	}
	secret := make([]byte, 32)
	if _, err := rand.Read(secret); err != nil {
		log.Fatal(err)
	}
	config := &fosite.Config{AccessTokenLifespan: lifetime, GlobalSecret: secret, ScopeStrategy: fosite.ExactScopeStrategy}
	provider := compose.Compose(config, newStore(), compose.NewOAuth2HMACStrategy(config),
		compose.OAuth2ClientCredentialsGrantFactory,
		compose.OAuth2TokenIntrospectionFactory,
		compose.OAuth2TokenRevocationFactory,
	)
	http.HandleFunc("/oauth/token", func(w http.ResponseWriter, r *http.Request) {
		ctx := context.Background()
		request, err := provider.NewAccessRequest(ctx, r, &fosite.DefaultSession{})
		if err != nil {
			provider.WriteAccessError(ctx, w, request, err)
			return
		}
		for _, scope := range request.GetRequestedScopes() {
			request.GrantScope(scope)
		}
		response, err := provider.NewAccessResponse(ctx, request)
		if err != nil {
			provider.WriteAccessError(ctx, w, request, err)
			return
		}
		provider.WriteAccessResponse(ctx, w, request, response)
	})
	http.HandleFunc("/introspect", func(w http.ResponseWriter, r *http.Request) {
		ctx := context.Background()
		response, err := provider.NewIntrospectionRequest(ctx, r, &fosite.DefaultSession{})
		if err != nil {
			provider.WriteIntrospectionError(ctx, w, err)
			return
		}
		provider.WriteIntrospectionResponse(ctx, w, response)
	})
	http.HandleFunc("/revoke", func(w http.ResponseWriter, r *http.Request) {
		ctx := context.Background()
		provider.WriteRevocationResponse(ctx, w, provider.NewRevocationRequest(ctx, r))
	})
	log.Fatal(http.ListenAndServe("127.0.0.1:"+os.Getenv("PORT"), nil))
}
