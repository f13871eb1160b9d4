/** How far a prediction has come (domain/predictions/standing.ts), read from its whole log. */
import {
  type SetupStanding,
  type Standing,
  withSetupEvent,
} from "../../domain/predictions/standing.ts";
import { NO_MOMENTS, withEvent } from "../../domain/predictions/timeline.ts";
import type { LogEvent } from "../../protocol/event.ts";
import type { PredictionRecord } from "./record.ts";

/** What its log tells of it, event by event. */
export class Progress {
  #moments = NO_MOMENTS;
  #setup: SetupStanding | null = null;

  add(event: LogEvent, at: number): void {
    this.#moments = withEvent(this.#moments, event, at);
    this.#setup = withSetupEvent(this.#setup, event, at);
  }

  standing(record: PredictionRecord): Standing {
    const { spec, state, terminal } = record.life;
    const { attempt } = state;
    const { created_at, updated_at, status, setup_time, execution_time } = record.present();
    // The log says when the runner first reported; it had the job since the attempt was opened.
    const started = attempt?.started_at ? attempt.opened_at : this.#moments.started;
    return {
      times: { created_at, updated_at, status, setup_time, execution_time },
      pool: spec.hardware.pool,
      hardware: spec.hardware.identifier,
      waiting_since: state.waiting_since,
      handed_at: terminal ? null : (attempt?.opened_at ?? null),
      moments: { ...this.#moments, started },
      setup: terminal ? null : this.#setup,
    };
  }
}

export function standingOf(record: PredictionRecord): Standing {
  const progress = new Progress();
  for (const { at, events } of record.log.rows())
    for (const event of events) progress.add(event, at);
  return progress.standing(record);
}
