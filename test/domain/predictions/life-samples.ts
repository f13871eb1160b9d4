/** Predictions at each point of their life, for tests of the rules. */
import { PredictionLife } from "../../../src/domain/predictions/life.ts";
import { NOW, SECRET, specWith } from "./samples.ts";

export function pending() {
  const life = PredictionLife.create(specWith());
  life.takeEvents();
  return life;
}

export function offered() {
  const life = pending();
  life.openAttempt(SECRET, NOW + 1);
  return life;
}

export function started() {
  const life = offered();
  life.start(NOW + 2);
  life.takeEvents();
  return life;
}

export function ended() {
  const life = started();
  life.finish({ status: "succeeded", output: "value" }, NOW + 3);
  life.takeEvents();
  return life;
}

/** Returns the numbers of the dismissed attempts, which were not heard. */
export const dismissed = ({ state }: PredictionLife) => state.dismissed.map(({ number }) => number);
