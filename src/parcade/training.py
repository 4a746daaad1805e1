"""The one file that knows all rooms: the training loop."""

from __future__ import annotations

import logging
import math
import shutil
import time
from collections.abc import Callable
from contextlib import ExitStack, suppress
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import torch

from parcade.assembly import (
    doubts,
    env_spec,
    learner_of,
    learning_threads,
    net_of,
    policy_of,
    pool_of,
    rollout_of,
    settings_for,
)
from parcade.env.fingerprint import fingerprint
from parcade.env.make import find_rom, make_game
from parcade.env.spec import Watch
from parcade.errors import EnvError, MissingExtraError, ModelFileError, RunError, SettingsError, UserError
from parcade.evaluation import Evaluation, evaluation_spec, load_policy, play_episodes
from parcade.finite import what_is_no_number
from parcade.learn.allocator import keep_freed_memory
from parcade.learn.collect import Collector
from parcade.learn.rollout import Rollout
from parcade.results import Results, TrainResult
from parcade.run.checkpoint import Checkpoint, check_counters, check_journal, save_checkpoint
from parcade.run.directory import RunFolder, manifest, write_json
from parcade.run.lock import held
from parcade.run.metrics import Recorder
from parcade.run.model_file import load_weights
from parcade.settings import TrainSettings
from parcade.surroundings import log_file, stop_on_signal, threads_restored

log = logging.getLogger("parcade.train")
Watcher = Callable[[str, dict[str, Any]], None]  # told what happens: opening, started, update, evaluation, finished


def train(
    settings: TrainSettings | None = None,
    *,
    on_event: Watcher | None = None,
    watch: Watch | None = None,
    **given: Any,
) -> TrainResult:
    """Train and return what came of it; settings are fields of ``TrainSettings`` by name.

    ``train(game="lantern", total_timesteps=50_000, n_envs=8)``
    ``watch`` says where the games lay their pictures for a window; no number depends on it.
    """
    if settings is None:
        settings = settings_for(given)
    elif given:
        raise SettingsError("train takes a TrainSettings or single settings, not both")
    with Training(settings, RunFolder.create(settings.log_root, settings.name), on_event, watch) as training:
        try:
            training.begin()
        except UserError:
            training.leave_no_folder()
            raise
        return training.run()


class Training:
    """Everything a run holds while it goes on; closes all of it whatever happens."""

    def __init__(
        self, settings: TrainSettings, folder: RunFolder, on_event: Watcher | None, watch: Watch | None = None
    ) -> None:
        self.settings, self.folder, self._watch = settings, folder, watch
        self._tell: Watcher = on_event or (lambda what, data: None)
        self._stack = ExitStack()
        self.update, self.env_steps, self.seconds = 0, 0, 0.0
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

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def leave_no_folder(self) -> None:
        """Remove the folder of a run in which nothing was trained."""
        shutil.rmtree(self.folder.path, ignore_errors=True)
        with suppress(OSError):
            self.folder.path.parent.rmdir()

    def _open(self) -> None:
        settings = self.settings
        self._stack.enter_context(threads_restored())
        torch.set_num_threads(1)  # the last bits of the first weights depend on it, and must not on who ran before
        self.spec = env_spec(settings).with_(watch=self._watch)
        self.eval_spec = evaluation_spec(self.spec)
        if self._watch is not None:
            self.eval_spec = self.eval_spec.with_(watch=replace(self._watch, label="evaluation"))
        if not self.folder.config.exists():
            rom = find_rom(self.spec, make_game(self.spec)).sha1 if self.spec.game else None
            envs: dict[str, Any] = {"trained_in": self.spec.label, "evaluated_in": self.eval_spec.label}
            if self.spec.state is not None:
                envs["state_sha1"] = fingerprint(self.spec.state)
            try:
                write_json(self.folder.manifest, {**manifest(settings.model_dump(), rom), **envs})
                write_json(self.folder.config, settings.model_dump(mode="json"))  # last: with it the run can be resumed
            except OSError as error:
                raise SettingsError(f"no run can be kept in {self.folder.path}: {error.strerror}") from None
        self._stack.enter_context(log_file(self.folder.logs / "train.log"))
        self._tell("opening", {"settings": settings})
        self.pool = pool_of(self.spec, settings)
        self._stack.callback(self.pool.close)
        self.policy = policy_of(settings, self.pool)
        for doubt in doubts(settings, self.policy):
            log.warning("%s", doubt)
        self.noise, self.shuffle = torch.Generator(), torch.Generator()
        self.noise.manual_seed(settings.seed * 2 + 1)
        self.shuffle.manual_seed(settings.seed * 2 + 2)
        self.learner = learner_of(settings, self.policy, self.shuffle)
        self._threads = settings.num_threads or learning_threads(self.policy)
        self.rollout = rollout_of(settings, self.pool, self.policy)
        self.collector = Collector(self.pool, self.policy, self.rollout, self.noise)
        folder, names = self.folder, self.pool.metric_names
        self.results = Results(folder, settings, self.spec, self.policy, self.pool.action_space)
        self.recorder = Recorder(folder.metrics, folder.monitor, folder.logs, settings.envs, names)
        self._stack.callback(self.recorder.close)

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
        check_counters(meta)
        check_journal(checkpoint.pool)
        self.recorder.check(meta["recorder"])
        self.update, self.env_steps, self.seconds = meta["update"], meta["env_steps"], meta["seconds"]
        self.results.best = meta["best"]
        load_weights(self.policy, checkpoint.weights, self.folder.checkpoints)
        self.learner.load_optimiser(checkpoint.optimiser)
        self.noise.set_state(checkpoint.generators["noise"])
        self.shuffle.set_state(checkpoint.generators["shuffle"])
        self.collector.load_state(checkpoint.generators)
        self.learner.load_state(checkpoint.generators)
        self.pool.load(checkpoint.pool)
        self.recorder.load(meta["recorder"])  # last: it cuts the run's files

    def run(self) -> TrainResult:
        """Train to the end or to the first Ctrl-C; a checkpoint, models, report and summary are left either way."""
        settings = self.settings
        begun = {"settings": settings, "folder": self.folder, "env_steps": self.env_steps}
        begun |= {"trained_in": self.spec.label, "evaluated_in": self.eval_spec.label}
        self._tell("started", {**begun, "n_workers": self.pool.n_workers})
        keep_freed_memory()
        with stop_on_signal(self.request_stop):
            while not self._done():
                self._one_update()
        if self._stop or self.env_steps % max(1, settings.save_freq):
            self.save()
        return self._finish()

    def _done(self) -> bool:
        limit = self.settings.num_episodes
        enough = self.env_steps >= self.settings.total_timesteps
        return self._stop or enough or (limit is not None and self.recorder.episodes >= limit)

    def _one_update(self) -> None:
        settings, started = self.settings, time.perf_counter()
        torch.set_num_threads(1)  # the workers have the cores now
        rollout = self.collector.collect()
        collected = time.perf_counter()
        torch.set_num_threads(self._threads)
        left = max(0.0, 1.0 - self.env_steps / settings.total_timesteps)
        losses = self.learner.update(
            rollout,
            lr_factor=left if settings.lr_schedule == "linear" else 1.0,
            clip_factor=left if settings.clip_schedule == "linear" else 1.0,
        )
        learned = time.perf_counter()
        self._check_numbers(losses, rollout)
        before, self.env_steps = self.env_steps, self.env_steps + rollout.env_steps
        self.update += 1
        self.seconds += learned - started
        row = self._row(rollout, losses, learned - collected)
        if _passed(before, self.env_steps, settings.eval_freq) and self.env_steps < settings.total_timesteps:
            row["eval"] = self._evaluate_now()
        self.recorder.update(row)
        self._tell("update", row)
        log.info("%s", _fact_line(row))
        if _passed(before, self.env_steps, settings.save_freq):
            self.save()

    def _check_numbers(self, losses: dict[str, float], rollout: Rollout) -> None:
        """End a run that can only get worse; its last checkpoint is from before."""
        sound = all(math.isfinite(value) for value in losses.values())
        what = what_is_no_number(self.policy, rollout) if sound else "the losses"
        if what is not None:
            raise RunError(
                f"{what} after step {self.env_steps:,} are no numbers: the env gave an observation or reward "
                f"that is none, or learning_rate {self.settings.learning_rate:g} is too high; "
                "what was saved before stays"
            )

    def _row(self, rollout: Rollout, losses: dict[str, float], learn_s: float) -> dict[str, Any]:
        for episode in rollout.episodes:
            steps = self.env_steps - (rollout.n_steps - 1 - episode.step) * rollout.n_envs
            self.recorder.episode(episode.slot, episode.total_reward, episode.length, episode.metrics, steps)
        return {
            "update": self.update,
            "env_steps": self.env_steps,
            "episodes": self.recorder.episodes,
            **self.recorder.means(),
            "losses": losses,
            "time": {
                "seconds": self.seconds,
                "steps_per_s": self.env_steps / self.seconds,
                "env_s": rollout.env_s,
                "inference_s": rollout.inference_s,
                "learn_s": learn_s,
                "worker_restarts": len(self.pool.restarts),
            },
        }

    def _evaluate_now(self) -> dict[str, Any]:
        settings = self.settings
        result = self._evaluation(settings.n_eval_episodes, seed=1)
        self.results.offer_best(result.return_mean, self.env_steps)
        self._tell("evaluation", {"env_steps": self.env_steps, "result": result})
        return {
            "mean_reward": result.return_mean,
            "std_reward": result.return_std,
            "mean_length": result.length_mean,
            "std_length": result.length_std,
            **({} if result.success_rate is None else {"success_rate": result.success_rate}),
        }

    def _evaluation(
        self, episodes: int, seed: int, video: Path | None = None, stopped: Callable[[], bool] | None = None
    ) -> Evaluation:
        torch.set_num_threads(1)  # one observation at a time: more threads only wait for each other
        self._tell("evaluating", {"episodes": episodes})
        return play_episodes(
            self.policy,
            self.eval_spec,
            episodes=episodes,
            seed=seed,
            deterministic=self.settings.eval_deterministic,
            video=video,
            on_episode=lambda index, episode: self._tell("eval_episode", {"index": index, "of": episodes}),
            stopped=stopped,
        )

    def _final_evaluation(self, episodes: int) -> Evaluation:
        """Ctrl-C ends it after the present episode: what was played until then counts."""
        with stop_on_signal(self.request_stop):
            if self.settings.video:
                try:
                    video = self.folder.videos / "final.mp4"
                    return self._evaluation(episodes, seed=0, video=video, stopped=lambda: self._stop)
                except (MissingExtraError, EnvError) as error:
                    log.warning("no video: %s", error)
            return self._evaluation(episodes, seed=0, stopped=lambda: self._stop)

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
            "update": self.update,
            "env_steps": self.env_steps,
            "seconds": self.seconds,
            "best": self.results.best,
            "recorder": recorded,
        }
        generators = {"noise": self.noise.get_state(), "shuffle": self.shuffle.get_state()}
        generators |= {**self.collector.state(), **self.learner.state()}
        optimiser = self.learner.optimiser.state_dict()
        checkpoint = Checkpoint(meta, self.policy.state_dict(), optimiser, generators, self.pool.dump())
        save_checkpoint(self.folder.checkpoints, self.env_steps, checkpoint, self.settings.keep_checkpoints)

    def _finish(self) -> TrainResult:
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
        model = self.results.save_model("final_model.zip", self.env_steps)
        if settings.final_eval_episodes and not self._stop:
            final = self._final_evaluation(settings.final_eval_episodes)
            if self.results.best is None or final.return_mean >= self.results.best:
                self.results.save_model("best_model.zip", self.env_steps)
        elif not (self.folder.models / "best_model.zip").exists():
            self.results.save_model("best_model.zip", self.env_steps)
        result = self._result(model, final)
        self.results.write(result, final)
        self._tell("finished", {"result": result, "evaluation": final})
        return result

    def _result(self, model: str, final: Evaluation | None) -> TrainResult:
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
            model=model,
            worker_restarts=len(self.pool.restarts),
            interrupted=self._stop,
        )

    def request_stop(self) -> bool:
        """End after the present update, with a checkpoint; False if that was asked for before."""
        if self._stop:
            return False
        self._stop = True
        self._tell("stopping", {})
        return True


def _passed(before: int, after: int, every: int) -> bool:
    return every > 0 and after // every > before // every


def _fact_line(row: dict[str, Any]) -> str:
    facts = {"update": row["update"], "env_steps": row["env_steps"], "episodes": row["episodes"]}
    facts |= {"steps_per_s": round(row["time"]["steps_per_s"])}
    facts |= {name: row[name] for name in ("return_mean", "success_rate") if row[name] is not None}
    return " ".join(f"{k}={v:.3f}" if isinstance(v, float) else f"{k}={v}" for k, v in facts.items())
