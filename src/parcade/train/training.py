"""The training, whole: everything a run holds while it goes on."""

from __future__ import annotations

import logging
import shutil
import signal
from contextlib import ExitStack, suppress
from dataclasses import replace
from typing import Any

import torch

from parcade.config.settings import TrainSettings
from parcade.env.judged import evaluated_as
from parcade.env.spec import Watch
from parcade.errors import ModelFileError, RunError
from parcade.learn.allocator import keep_freed_memory
from parcade.pool.block import Block
from parcade.pool.pool import Pool
from parcade.run.checkpoint import Checkpoint, check_counters, check_journal, save_checkpoint, write_making_room
from parcade.run.directory import RunFolder, faults_told
from parcade.run.lock import held
from parcade.run.metrics import Recorder
from parcade.run.model_file import load_weights
from parcade.train import events
from parcade.train.assembly import check_demonstrations, check_memory, learning_threads, policy_of, warnings_for
from parcade.train.coached import coach_of, use_guide
from parcade.train.evaluation import Evaluation
from parcade.train.exploring import check_exploring, explorer_of, reads_cells
from parcade.train.finite import check_numbers
from parcade.train.first_look import look_at_env
from parcade.train.first_weights import take_weights
from parcade.train.given import env_spec
from parcade.train.go_on import resume_command
from parcade.train.info_keys import InfoKeysCheck
from parcade.train.judge import Judge
from parcade.train.kept import EndedEpisode, EpisodeKeeper
from parcade.train.learning_progress import UpdateInterruptedError, follow_learning
from parcade.train.live import Live
from parcade.train.loop import learn
from parcade.train.opening import Machines, check_learners, open_algorithm, open_games, playing_parts
from parcade.train.process_context import log_file, stop_on_signal, threads_restored
from parcade.train.results import Results, TrainResult, write_down
from parcade.train.rollouts import PlayInterruptedError, Rollouts
from parcade.train.scaling import Scaling
from parcade.train.summary import fact_line, summary_text
from parcade.train.tracking import Tracking

log = logging.getLogger("parcade.train")


class Training:
    """Opens all parts of a run, and closes all of them whatever happens."""

    def __init__(
        self,
        settings: TrainSettings,
        folder: RunFolder,
        on_event: events.Listener | None = None,
        watch: Watch | None = None,
        factory: bytes | None = None,
        machines: Machines | None = None,
    ) -> None:
        self.settings, self.folder, self._watch, self._factory = settings, folder, watch, factory
        self._machines = machines
        self._tracking = Tracking(settings, folder, on_event)
        self._live = Live(folder, self._tracking, watch)
        self._tell = self.tell = self._live.tell
        self._stack = ExitStack()
        self.updates, self.env_steps, self.seconds = 0, 0, 0.0
        self._stop, self.dropped_steps = False, 0

    def __enter__(self) -> Training:
        is_new = not self.folder.config.exists()
        try:
            with faults_told(self.folder.path):
                self._stack.enter_context(held(self.folder.logs / "lock"))
                self._open()
        except BaseException:
            self._stack.close()
            if is_new:
                self.leave_no_folder()
            raise
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is not None and issubclass(kind, KeyboardInterrupt):
            self.pool.close(at_once=True)  # the second Ctrl-C: nobody waits for the games
        self._stack.close()

    def leave_no_folder(self) -> None:
        """Remove the folder of a run in which nothing was trained."""
        shutil.rmtree(self.folder.path, ignore_errors=True)
        with suppress(OSError):
            self.folder.path.parent.rmdir()

    def _open(self) -> None:
        settings, folder = self.settings, self.folder
        self._stack.enter_context(threads_restored())
        torch.set_num_threads(1)  # the last bits of the first weights depend on it, and must not on who ran before
        self.spec = env_spec(settings, self._factory)
        self.eval_spec = evaluated_as(self.spec)
        if self._watch is not None:
            self.eval_spec = self.eval_spec.with_(watch=replace(self._watch, label="evaluation"))
        check_exploring(settings, self.spec)
        check_demonstrations(settings, self.spec)
        check_learners(settings, self._watch)
        if not folder.config.exists():
            write_down(settings, folder, self.spec, self.eval_spec)
        self._stack.enter_context(log_file(folder.logs / "train.log"))
        self._stack.enter_context(self._tracking)
        self._tell(events.Opening(settings))
        self.spec_played = self.spec.with_(cells=reads_cells(settings))
        self.pool = open_games(self.spec_played, settings, self._machines)
        self._stack.callback(lambda: self.pool.close())  # the one that is used then
        look_at_env(self.pool)
        self.policy = policy_of(settings, self.pool.observation_space, self.pool.action_space)
        self.algorithm = open_algorithm(
            settings, self.policy, self.spec, self.pool, lambda steps, of: self._tell(events.Replaying(steps, of))
        )
        follow_learning(self.algorithm, self._tell_learning, lambda: self._stop and self.rollouts.can_take_back)
        self.judge = Judge(
            settings,
            self.policy,
            self.eval_spec,
            self._tell,
            lambda: self._stop,
            playing_parts(settings, self._machines),
        )
        self._threads = settings.num_threads or learning_threads(self.policy, settings.shards)
        check_memory(settings, self.pool.observation_space)
        for warning in warnings_for(settings, self.policy):
            log.warning("%s", warning)
        coach = coach_of(settings, self.spec, folder, self._tell)
        if coach is not None:
            self._stack.callback(coach.close)
            coach.on_guide = lambda guide: use_guide(self, guide)
        explorer, seed = explorer_of(settings, self.pool, self.spec), settings.seed * 2 + 1
        self.rollouts = Rollouts(
            self.pool, self.algorithm, settings.n_steps, seed, overlap=settings.overlap, explorer=explorer, coach=coach
        )
        self.rollouts.notes_begin = self.algorithm.can_be_given_up
        self.results = Results(folder, settings, self.spec, self.algorithm, self.pool.action_space)
        self.recorder = Recorder(folder.metrics, folder.monitor, folder.logs, settings.envs, self.pool.metric_names)
        self._stack.callback(self.recorder.close)
        self._live.open(self.pool, self.spec, settings, self.algorithm)
        self._stack.callback(self._live.close)
        self._keeper = EpisodeKeeper(folder.episodes, settings.episodes_mb, self.pool)
        self._info_keys = InfoKeysCheck(settings.info_keys, is_idle=not settings.overlap)
        self.scaling = Scaling(self)

    def _tell_learning(self, share: float) -> None:
        rows = self.settings.rows_per_update
        self._tell(events.Learning(self.env_steps + rows, rows, share))

    def begin(self) -> None:
        """Start from the first step, or from the weights of ``settings.model``."""
        if self.settings.model is not None:
            take_weights(self.policy, self.settings, self.settings.model)
        self.pool.reset()
        self.rollouts.begin()

    def start_over(self) -> None:
        """Begin anew in the folder of a run that left no checkpoint: the same seed gives the same numbers again."""
        self.recorder.load({**self.recorder.state(), "metrics_end": 0, "monitor_ends": {}})
        self._keeper.kept.load(None, {})
        self.begin()

    def take_up(self, checkpoint: Checkpoint) -> None:
        """Go back to a checkpoint in every respect; nothing of the run is changed by one that does not belong to it."""
        meta = checkpoint.meta
        if meta.get("algorithm") != self.algorithm.name:
            raise ModelFileError(f"the checkpoint is of {meta.get('algorithm')!r}, the run of {self.algorithm.name!r}")
        check_counters(meta)
        check_journal(checkpoint.pool)
        self.recorder.check(meta["recorder"])
        self._keeper.kept.check(meta.get("episodes"))
        self.updates, self.env_steps, self.seconds = meta["update"], meta["env_steps"], meta["seconds"]
        self.results.best = meta["best"]
        load_weights(self.policy, checkpoint.weights, self.folder.checkpoints)
        self.algorithm.load_state(checkpoint.algorithm)
        self.rollouts.load_state(checkpoint.pool)
        self.recorder.load(meta["recorder"])  # last: it cuts the run's files
        self._keeper.kept.load(meta.get("episodes"), checkpoint.episodes)

    def move_to(self, pool: Pool) -> None:
        """Go on in another pool, between two updates: no number but the time depends on it."""
        self.rollouts.move_to(pool)
        self.pool, before = pool, self.pool
        self._keeper.pool = pool
        self._live.open(pool, self.spec, self.settings, self.algorithm)
        before.close()

    def run(self) -> TrainResult:
        """Train to the end or to the first Ctrl-C; a checkpoint, models, report and summary are left either way."""
        settings, where = self.settings, (self.spec.label, self.eval_spec.label)
        self.recorder.hyperparameters(settings.model_dump(mode="json"))
        self._tell(events.Started(settings, self.folder, self.env_steps, self.pool.n_workers, *where))
        self.rollouts.while_waiting(self._look_up)  # only now: what is told of a rollout has to follow the start
        keep_freed_memory()
        with stop_on_signal(self.request_stop):
            try:
                learn(self)
            except (PlayInterruptedError, UpdateInterruptedError):
                pass
            except Exception:
                self.results.report_so_far(self._result(None), at_once=True)
                raise
            if self._stop or self.env_steps % max(1, settings.save_freq):
                self.save()
            return self._finish()

    @property
    def is_done(self) -> bool:
        """Whether the training has all the steps or episodes it was to have, or was asked to end."""
        limit = self.settings.num_episodes
        enough = self.env_steps >= self.settings.total_timesteps
        return self._stop or enough or (limit is not None and self.recorder.episodes >= limit)

    @property
    def left(self) -> float:
        """The share of the steps that is still to come."""
        return max(0.0, 1.0 - self.env_steps / self.settings.total_timesteps)

    def use_all_threads(self) -> None:
        """Learn with all threads; while the games play there is one."""
        torch.set_num_threads(self._threads)
        self._live.learning()

    def _look_up(self, steps: int) -> None:
        """Show how far the games are in a rollout, and give it up where the training is to end."""
        self._tell(events.Playing(self.env_steps + steps, self.settings.rows_per_update))
        if self._stop:
            self.dropped_steps = steps
            raise PlayInterruptedError

    def note(self, block: Block, losses: dict[str, float], play_s: float, learn_s: float) -> None:
        """Write down an update, evaluate and save where it is time."""
        settings = self.settings
        check_numbers(self.policy, block, losses, self.env_steps, settings.learning_rate)
        before, self.env_steps = self.env_steps, self.env_steps + block.env_steps
        self.updates += 1
        self.seconds += play_s + learn_s
        self.scaling.note(play_s, block.env_steps)
        row = self._row(block, losses, play_s, learn_s)
        if _passed(before, self.env_steps, settings.eval_freq) and self.env_steps < settings.total_timesteps:
            row |= self._evaluate_now()
        self._tell(events.Updated(row, self.recorder.update(row)))
        log.info("%s", fact_line(row))
        if _passed(before, self.env_steps, settings.save_freq):
            self.save()

    def _row(self, block: Block, losses: dict[str, float], play_s: float, learn_s: float) -> dict[str, Any]:
        ended = []
        for episode in block.episodes():
            steps = self.env_steps - (block.n_steps - 1 - episode.step) * block.n_envs
            self.recorder.episode(episode.slot, episode.total_reward, episode.length, episode.metrics, steps)
            ended.append(EndedEpisode(episode, self.recorder.episodes, steps))
        self._keeper.note(block, ended)
        self._info_keys.note([one.episode for one in ended], self.pool)
        return {
            "update": self.updates,
            "env_steps": self.env_steps,
            "episodes": self.recorder.episodes,
            **self.recorder.means(),
            "running": self.rollouts.running,
            "losses": losses,
            **({"explore": self.rollouts.explorer.told} if self.rollouts.explorer is not None else {}),
            "time": {
                "seconds": self.seconds,
                "steps_per_s": self.env_steps / self.seconds,
                "play_s": play_s,
                "learn_s": learn_s,
                "worker_restarts": len(self.pool.restarts),
                "n_workers": self.pool.n_workers,
            },
        }

    def _evaluate_now(self) -> dict[str, Any]:
        """Evaluate and keep the best policy."""
        result = self.judge.between(self.env_steps)
        if result is None:
            return {}
        self.results.offer_best(result.return_mean, self.env_steps)
        return {"eval": result.summary()}

    def save(self) -> None:
        """Write a checkpoint of this moment; on a full disk none, and nothing else is lost."""
        self.results.write_waiting_best()
        try:
            recorded = write_making_room(self.folder.checkpoints, "the rows of metrics", self.recorder.state)
        except OSError as error:
            log.warning(
                "no checkpoint after step %d: the rows before it could not be written (%s)",
                *(self.env_steps, error.strerror),
            )
            return
        kept, episodes = self._keeper.kept.state()
        meta = {
            "algorithm": self.algorithm.name,
            "update": self.updates,
            "env_steps": self.env_steps,
            "seconds": self.seconds,
            "best": self.results.best,
            "recorder": recorded,
            "episodes": kept,
            "model": self.results.model_meta(self.env_steps),
        }
        learned = self.policy.state_dict(), self.algorithm.state()
        checkpoint = Checkpoint(meta, *learned, self.rollouts.state(), episodes)
        if save_checkpoint(self.folder.checkpoints, self.env_steps, checkpoint, self.settings.keep_checkpoints):
            self._keeper.kept.saved()
        if self.settings.keep_models:
            self.results.keep_model(self.env_steps)
        self.results.report_so_far(self._result(None))

    def _finish(self) -> TrainResult:
        self._live.keep_places()
        if self._stop:
            self.pool.close(at_once=True)
        try:
            return self._write_results()
        except OSError as error:
            raise RunError(
                f"the results could not be written to {self.folder.path}: {error.strerror}; "
                f"`{resume_command(self.spec, self.folder.path)}` goes on from the last checkpoint once there is room"
            ) from None

    def _write_results(self) -> TrainResult:
        settings, final = self.settings, None
        self._keeper.kept.close()
        self.results.write_waiting_best()
        self.results.save_model("final_model.zip", self.env_steps)
        if settings.final_eval_episodes and not self._stop:
            final = self.judge.at_end(self.env_steps, self.folder.videos / "final.mp4")
            self._note_final(final)
        best = self.results.best
        is_best = final is not None and final.episodes and (best is None or final.return_mean >= best)
        if is_best or best is None or not (self.folder.models / "best_model.zip").exists():
            self.results.save_model("best_model.zip", self.env_steps)
        final = final if final is not None and final.episodes else None
        result = self._result(final)
        self.results.write(result, final)
        told = self.dropped_steps, self.judge.why_none_at_end, resume_command(self.spec, self.folder.path)
        finished = events.Finished(result, final, settings.envs, self.pool.n_workers, *told)
        log.info("%s", summary_text(finished))
        self._tell(finished)
        return result

    def _note_final(self, final: Evaluation | None) -> None:
        if final is not None and final.episodes:
            place = {"update": self.updates, "env_steps": self.env_steps, "final": True}
            time = {"seconds": self.seconds, "eval_s": final.seconds}
            self.recorder.final_evaluation({**place, "eval": final.summary(), "time": time})

    def _result(self, final: Evaluation | None) -> TrainResult:
        means, seconds = self.recorder.means(), max(self.seconds, 1e-9)
        told = {**means["game"], "success": means["success_rate"]}
        return TrainResult(
            run_dir=str(self.folder.path),
            env_steps=self.env_steps,
            episodes=self.recorder.episodes,
            seconds=self.seconds,
            steps_per_s=self.env_steps / seconds,
            episodes_per_s=self.recorder.episodes / seconds,
            return_mean=means["return_mean"],
            success_rate=means["success_rate"] if final is None else final.success_rate,
            train_success_rate=means["success_rate"],
            evaluation=final.to_dict() if final else None,
            model=str(self.folder.models / "final_model.zip"),
            worker_restarts=len(self.pool.restarts),
            interrupted=self._stop,
            milestones={one.name: told[one.metric] for one in self.results.milestones},
        )

    def request_stop(self, number: int = signal.SIGINT) -> bool:
        """End soon, with a checkpoint; False if that was asked for before. ``number`` is the signal that asked."""
        if self._stop:
            return False
        self._stop = True
        log.info("stopping because of %s; a checkpoint is written", signal.Signals(number).name)
        self._tell(events.Stopping(number))
        return True


def _passed(before: int, after: int, every: int) -> bool:
    return every > 0 and after // every > before // every
