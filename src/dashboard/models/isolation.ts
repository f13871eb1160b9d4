/** Whose runs share a container, in words for those whose runs they are. */
import { type Configuration, DEFAULT_ISOLATION, type Isolation } from "../../protocol/model.ts";

interface Choice {
  value: Isolation;
  label: string;
  hint: string;
}

export const ISOLATIONS: readonly Choice[] = [
  {
    value: "model",
    label: "Everybody’s runs of this version",
    hint: "One that is up serves whoever calls.",
  },
  {
    value: "account",
    label: "Runs of the same account",
    hint: "The first run of each caller waits for a container of its own.",
  },
  {
    value: "prediction",
    label: "No other run",
    hint: "Each waits for a new container, which is removed after it.",
  },
];

export const isolationOf = ({ isolation = DEFAULT_ISOLATION }: Configuration): Isolation =>
  isolation;

export const isolationText = (configuration: Configuration): string =>
  ISOLATIONS.find(({ value }) => value === isolationOf(configuration))?.label ?? "";
