/** Isolation in words: which predictions share a container. */
import { type Configuration, DEFAULT_ISOLATION, type Isolation } from "../../protocol/model.ts";

interface Choice {
  value: Isolation;
  label: string;
  hint: string;
}

export const ISOLATION_CHOICES: readonly Choice[] = [
  {
    value: "model",
    label: "Shared by all accounts",
    hint: "A running container serves every caller.",
  },
  {
    value: "account",
    label: "Separate for each account",
    hint: "The first prediction of each account waits for a new container.",
  },
  {
    value: "prediction",
    label: "Separate for each prediction",
    hint: "Each prediction waits for a new container, which is removed afterwards.",
  },
];

export const isolationOf = ({ isolation = DEFAULT_ISOLATION }: Configuration): Isolation =>
  isolation;

export const isolationText = (configuration: Configuration): string =>
  ISOLATION_CHOICES.find(({ value }) => value === isolationOf(configuration))?.label ?? "";
