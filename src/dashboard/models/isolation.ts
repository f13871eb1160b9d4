/** Which predictions share a container, in words. */
import { type Configuration, DEFAULT_ISOLATION, type Isolation } from "../../protocol/model.ts";

interface Choice {
  value: Isolation;
  label: string;
  hint: string;
  /** To somebody who calls the model. */
  forCallers: string;
}

export const ISOLATION_CHOICES: readonly Choice[] = [
  {
    value: "model",
    label: "Shared by all accounts",
    hint: "A running container serves every caller.",
    forCallers: "shared by all callers",
  },
  {
    value: "account",
    label: "Separate for each account",
    hint: "The first prediction of each account waits for a new container.",
    forCallers: "your account’s own",
  },
  {
    value: "prediction",
    label: "Separate for each prediction",
    hint: "Each prediction waits for a new container, which is removed afterwards.",
    forCallers: "a new one for each run",
  },
];

export const isolationOf = ({ isolation = DEFAULT_ISOLATION }: Configuration): Isolation =>
  isolation;

const choiceOf = (configuration: Configuration) =>
  ISOLATION_CHOICES.find(({ value }) => value === isolationOf(configuration));

export const isolationText = (configuration: Configuration): string =>
  choiceOf(configuration)?.label ?? "";

export const isolationForCallers = (configuration: Configuration): string =>
  choiceOf(configuration)?.forCallers ?? "";
