"""The training, whole: everything a run holds while it goes on."""

from __future__ import annotations

import logging
import math
import shutil
import signal
from contextlib import ExitStack, suppress
from dataclasses import asdict, replace
from typing import Any

import torch

from parcade.config.settings import TrainSettings
from parcade.env.fingerprint import fingerprint
from parcade.env.judged import evaluated_as
from parcade.env.make import find_rom, make_game
from parcade.env.spec import Watch
from parcade.errors import ModelFileError, RunError, SettingsError
from parcade.learn.allocator import keep_freed_memory
from parcade.pool.block import Block
from parcade.run.checkpoint import Checkpoint, check_counters, check_journal, save_checkpoint
from parcade.run.directory import RunFolder, manifest, write_json
from parcade.run.lock import held
from parcade.run.metrics import Recorder
from parcade.run.model_file import load_weights
from parcade.train import events
from parcade.train.assembly import (
    algorithm_of,
    check_memory,
    env_spec,
    learning_threads,
    net_of,
    policy_of,
    pool_of,
    warnings_for,
)
from parcade.train.evaluation import Evaluation, load_policy
from parcade.train.finite import what_is_no_number
from parcade.train.judge import Judge
from parcade.train.loop import learn
from parcade.train.process_context import log_file, stop_on_signal, threads_restored
from parcade.train.results import Results, TrainResult
from parcade.train.rollouts import PlayInterruptedError, Rollouts
from parcade.train.summary import summary_text

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
    ) -> None:
        self.settings, self.folder, self._watch, self._factory = settings, folder, watch, factory
        self._tell: events.Listener = on_event or (lambda event: None)
        self._stack = ExitStack()
        self.updates, self.env_steps, self.seconds = 0, 0, 0.0
        self._stop = False

    def __enter__(self) -> Training:
        is_new = not self.folder.config.exists()
        self._stack.enter_context(held(self.folder.logs / "lock"))
        try:
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
        self.spec = env_spec(settings, self._factory).with_(watch=self._watch)
        self.eval_spec = evaluated_as(self.spec)
        if self._watch is not None:
            self.eval_spec = self.eval_spec.with_(watch=replace(self._watch, label="evaluation"))
        if not folder.config.exists():
            self._write_down()
        self._stack.enter_context(log_file(folder.logs / "train.log"))
        self._tell(events.Opening(settings))
        self.pool = pool_of(self.spec, settings)
        self._stack.callback(self.pool.close)
        self.policy = policy_of(settings, self.pool)
        self.algorithm = algorithm_of(settings, self.policy)
        self._judge = Judge(settings, self.policy, self.eval_spec, self._tell, lambda: self._stop)
        self._threads = settings.num_threads or learning_threads(self.policy)
        check_memory(settings, self.pool.observation_space)
        for warning in warnings_for(settings, self.policy):
            log.warning("%s", warning)
        seed = settings.seed * 2 + 1
        self.rollouts = Rollouts(self.pool, self.algorithm, settings.n_steps, seed, overlap=settings.overlap)
        self.rollouts.while_waiting(self._look_up)
        self.results = Results(folder, settings, self.spec, self.algorithm, self.pool.action_space)
        self.recorder = Recorder(folder.metrics, folder.monitor, folder.logs, settings.envs, self.pool.metric_names)
        self._stack.callback(self.recorder.close)

    def _write_down(self) -> None:
        """Write what the run is; the settings last, for with them it can be resumed."""
        rom = find_rom(self.spec, make_game(self.spec)).sha1 if self.spec.game else None
        more: dict[str, Any] = {"trained_in": self.spec.label, "evaluated_in": self.eval_spec.label}
        if self.spec.state is not None:
            more["state_sha1"] = fingerprint(self.spec.state)
        try:
            write_json(self.folder.manifest, {**manifest(self.settings.model_dump(), rom), **more})
            write_json(self.folder.config, self.settings.model_dump(mode="json"))
        except OSError as error:
            raise SettingsError(f"no run can be kept in {self.folder.path}: {error.strerror}") from None

    def begin(self) -> None:
        """Start from the first step, or from the weights of ``settings.model``."""
        if self.settings.model is not None:
            self._take_weights(self.settings.model)
        self.pool.reset()

    def _take_weights(self, model: str) -> None:
        """Start from a model's weights; where they do not fit, say in what its training was another one."""
        policy, foreign = load_policy(model)
        try:
            load_weights(self.policy, policy.state_dict(), model)
        except ModelFileError:
            theirs, ours = asdict(policy.net), asdict(net_of(self.settings))
            others = [f"{name} {theirs[name]} instead of {ours[name]}" for name in ours if theirs[name] != ours[name]]
            spec = foreign.spec
            where = f"{spec.label} ({spec.observation})" if spec.game else spec.label
            told = ", with ".join([f"it was trained in {where}", *others])
            raise ModelFileError(f"{model} does not fit the network: {told}") from None

    def start_over(self) -> None:
        """Begin anew in the folder of a run that left no checkpoint: the same seed gives the same numbers again."""
        self.recorder.load({**self.recorder.state(), "metrics_end": 0, "monitor_ends": {}})
        self.begin()

    def take_up(self, checkpoint: Checkpoint) -> None:
        """Go back to a checkpoint in every respect; nothing of the run is changed by one that does not belong to it."""
        meta = checkpoint.meta
        if meta.get("algorithm") != self.algorithm.name:
            raise ModelFileError(f"the checkpoint is of {meta.get('algorithm')!r}, the run of {self.algorithm.name!r}")
        check_counters(meta)
        check_journal(checkpoint.pool)
        self.recorder.check(meta["recorder"])
        self.updates, self.env_steps, self.seconds = meta["update"], meta["env_steps"], meta["seconds"]
        self.results.best = meta["best"]
        load_weights(self.policy, checkpoint.weights, self.folder.checkpoints)
        self.algorithm.load_state(checkpoint.algorithm)
        self.rollouts.load_state(checkpoint.pool)
        self.recorder.load(meta["recorder"])  # last: it cuts the run's files

    def run(self) -> TrainResult:
        """Train to the end or to the first Ctrl-C; a checkpoint, models, report and summary are left either way."""
        settings = self.settings
        where = self.spec.label, self.eval_spec.label
        self._tell(events.Started(settings, self.folder, self.env_steps, self.pool.n_workers, *where))
        keep_freed_memory()
        with stop_on_signal(self.request_stop):
            try:
                learn(self)
            except PlayInterruptedError:
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

    def _look_up(self, steps: int) -> None:
        """Show how far the games are in a rollout, and give it up where the training is to end."""
        self._tell(events.Playing(self.env_steps + steps, self.settings.rows_per_update))
        if self._stop:
            raise PlayInterruptedError

    def note(self, block: Block, losses: dict[str, float], play_s: float, learn_s: float) -> None:
        """Write down an update, evaluate and save where it is time."""
        settings = self.settings
        self._check_numbers(losses, block)
        before, self.env_steps = self.env_steps, self.env_steps + block.env_steps
        self.updates += 1
        self.seconds += play_s + learn_s
        row = self._row(block, losses, play_s, learn_s)
        if _passed(before, self.env_steps, settings.eval_freq) and self.env_steps < settings.total_timesteps:
            row |= self._evaluate_now()
        self.recorder.update(row)
        self._tell(events.Updated(row))
        log.info("%s", _fact_line(row))
        if _passed(before, self.env_steps, settings.save_freq):
            self.save()

    def _check_numbers(self, losses: dict[str, float], block: Block) -> None:
        """End a run that can only get worse; its last checkpoint is from before."""
        sound = all(math.isfinite(value) for value in losses.values())
        what = what_is_no_number(self.policy, block) if sound else "the losses"
        if what is not None:
            raise RunError(
                f"{what} after step {self.env_steps:,} are no numbers: the env gave an observation or reward "
                f"that is none, or learning_rate {self.settings.learning_rate:g} is too high; "
                "what was saved before stays"
            )

    def _row(self, block: Block, losses: dict[str, float], play_s: float, learn_s: float) -> dict[str, Any]:
        for episode in block.episodes():
            steps = self.env_steps - (block.n_steps - 1 - episode.step) * block.n_envs
            self.recorder.episode(episode.slot, episode.total_reward, episode.length, episode.metrics, steps)
        return {
            "update": self.updates,
            "env_steps": self.env_steps,
            "episodes": self.recorder.episodes,
            **self.recorder.means(),
            "running": self.rollouts.running,
            "losses": losses,
            "time": {
                "seconds": self.seconds,
                "steps_per_s": self.env_steps / self.seconds,
                "play_s": play_s,
                "learn_s": learn_s,
                "worker_restarts": len(self.pool.restarts),
            },
        }

    def _evaluate_now(self) -> dict[str, Any]:
        """Evaluate and keep the best policy."""
        result = self._judge.between(self.env_steps)
        if result is None:
            return {}
        self.results.offer_best(result.return_mean, self.env_steps)
        return {"eval": result.summary()}

    def save(self) -> None:
        """Write a checkpoint of this moment; on a full disk none, and nothing else is lost."""
        self.results.write_waiting_best()
        try:
            recorded = self.recorder.state()
        except OSError as error:
            log.warning(
                "no checkpoint after step %d: the rows before it could not be written (%s)",
                *(self.env_steps, error.strerror),
            )
            return
        meta = {
            "algorithm": self.algorithm.name,
            "update": self.updates,
            "env_steps": self.env_steps,
            "seconds": self.seconds,
            "best": self.results.best,
            "recorder": recorded,
            "model": self.results.model_meta(self.env_steps),
        }
        checkpoint = Checkpoint(meta, self.policy.state_dict(), self.algorithm.state(), self.rollouts.state())
        save_checkpoint(self.folder.checkpoints, self.env_steps, checkpoint, self.settings.keep_checkpoints)
        if self.settings.keep_models:
            self.results.keep_model(self.env_steps)
        self.results.report_so_far(self._result(None))

    def _finish(self) -> TrainResult:
        if self._stop:
            self.pool.close(at_once=True)
        try:
            return self._write_results()
        except OSError as error:
            raise RunError(
                f"the results could not be written to {self.folder.path}: {error.strerror}; "
                f"`parcade resume {self.folder.path}` goes on from the last checkpoint once there is room"
            ) from None

    def _write_results(self) -> TrainResult:
        settings, final = self.settings, None
        self.results.write_waiting_best()
        self.results.save_model("final_model.zip", self.env_steps)
        if settings.final_eval_episodes and not self._stop:
            final = self._judge.at_end(self.env_steps, self.folder.videos / "final.mp4")
            self._note_final(final)
        best = self.results.best
        is_best = final is not None and final.episodes and (best is None or final.return_mean >= best)
        if is_best or not (self.folder.models / "best_model.zip").exists():
            self.results.save_model("best_model.zip", self.env_steps)
        final = final if final is not None and final.episodes else None
        result = self._result(final)
        self.results.write(result, final)
        finished = events.Finished(result, final, self.settings.envs, self.pool.n_workers)
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


def _fact_line(row: dict[str, Any]) -> str:
    facts = {"update": row["update"], "env_steps": row["env_steps"], "episodes": row["episodes"]}
    facts |= {"steps_per_s": round(row["time"]["steps_per_s"])}
    facts |= {name: row[name] for name in ("return_mean", "success_rate") if row[name] is not None}
    return " ".join(f"{k}={v:.3f}" if isinstance(v, float) else f"{k}={v}" for k, v in facts.items())
