package main

import (
	"bytes"
	"context"
	"os"
	"os/signal"
	"syscall"
	"time"
)

// reloading reads the operator's file again when it changes or SIGHUP arrives, until
// end.
func (s *server) reloading(ctx context.Context) (end func()) {
	const often = 5 * time.Second
	asked := make(chan os.Signal, 1)
	signal.Notify(asked, syscall.SIGHUP)
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		ticker := time.NewTicker(often)
		defer ticker.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-ticker.C:
				s.reload(false)
			case <-asked:
				s.reload(true)
			}
		}
	}()
	return func() {
		signal.Stop(asked)
		cancel()
		<-done
	}
}

// reload activates the operator's current file, if it is valid. Without force it does
// nothing if the file is unchanged since the last look.
func (s *server) reload(force bool) {
	data, err := os.ReadFile(s.path)
	if err != nil {
		if force {
			s.log.Error().AnErr("err", err).Msg("the operator's file cannot be read; the one before stays in force")
		}
		return // it may be in the middle of a replacement
	}
	if !force && bytes.Equal(data, s.looked) {
		return
	}
	s.looked = data
	now, problems := newSetting(s.App, s.path, data)
	for _, p := range problems {
		s.log.Warn().Str("problem", p.String()).Msg("the operator's file")
	}
	if now == nil {
		s.log.Error().Msg("the operator's file is invalid; the one before stays in force")
		return
	}
	if err := s.adopt(now); err != nil {
		s.log.Error().AnErr("err", err).Msg("the operator's file cannot be followed; the one before stays in force")
		return
	}
	if later := now.file.UntilRestart(s.operator.File); len(later) > 0 {
		s.log.Warn().Strs("fields", later).Msg("what these fields say takes effect when gavel serve starts again")
	}
	s.log.Info().Int("repositories", len(now.file.Repositories)).Msg("the operator's file is in force")
}

// adopt activates a configuration, completely or not at all.
func (s *server) adopt(now *configState) error {
	before := s.now.Load()
	repos, err := s.operator.Next(now.file)
	if err != nil {
		return err
	}
	s.now.Store(now)
	handler, err := s.handler()
	if err != nil {
		s.now.Store(before)
		if _, back := s.operator.Next(before.file); back != nil {
			s.log.Error().AnErr("err", back).Msg("the file before")
		}
		return err
	}
	s.hook.Store(&handler)
	s.server.Load().Update(repos, policyOf(now.file))
	return nil
}
