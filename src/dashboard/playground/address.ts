/** State of the playground, and the address that leads back to it. */

import type { Figures } from "../../domain/predictions/estimate.ts";
import { versionIdOf } from "../../domain/replicate/versions.ts";
import type { Input } from "../../domain/schemas/input-form-values.ts";
import type { SchemaPart } from "../../domain/schemas/json-schema-shape.ts";
import { fieldsOf } from "../../lib/fields.ts";
import type { Example } from "../../protocol/example.ts";
import type { ExampleChoice } from "../../services/models/examples.ts";
import type { PredictionView } from "../../services/predictions/prediction-view.ts";
import type { RecentRun } from "../../services/predictions/recent-runs.ts";
import { type DetailedModelRow, defaultVersion } from "../../storage/models/models.ts";
import type { VersionRow } from "../../storage/models/versions.ts";
import { modelAddress, referenceOf } from "../ui/model-header.tsx";
import type { OpenedRun } from "./chat/open-run.ts";
import { codeSamples } from "./code/samples.ts";
import type { PlaygroundInput } from "./input.ts";
import type { View } from "./views.ts";

export interface PlaygroundState {
  model: DetailedModelRow;
  version: VersionRow;
  /** Version numbers, newest first. */
  versions: number[];
  view: View;
  form: PlaygroundInput;
  /** The input of the valid fields. */
  input: Input;
  /** The schema that client code validates with; undefined when it cannot be used. */
  shape: SchemaPart | undefined;
  problem?: string | undefined;
  note?: string | undefined;
  prediction?: PredictionView | undefined;
  /** The prediction as a conversation; undefined also where the chat cannot hold it. */
  opened?: OpenedRun | undefined;
  examples: ExampleChoice[];
  example?: Example | undefined;
  /** Whether the version of the example is gone. */
  isVersionGone?: boolean;
  runs: RecentRun[];
  figures: Figures | undefined;
  /** Why a budget would refuse the run now. */
  refusal: string | undefined;
  tab: Tab;
}

export type Tab = "output" | "code";

/** The page with another view, tab or input mode. */
export function addressIn(
  { model, version, prediction, opened, example, form, tab, view }: PlaygroundState,
  other: { view?: View; tab?: Tab; asJson?: boolean },
): string {
  const query = new URLSearchParams({ version: String(version.number) });
  const shown = other.view ?? view;
  query.set("view", shown);
  if (prediction && (shown !== "chat" || opened)) query.set("prediction", prediction.prediction.id);
  if (example && shown !== "chat") query.set("example", example.id);
  if (other.asJson ?? form.asJson) query.set("as", "json");
  if ((other.tab ?? tab) === "code") query.set("tab", "code");
  return `${modelAddress(model)}?${query}`;
}

/** The default version is not named: code samples then always run the default. */
export const pinnedOf = ({ model, version }: PlaygroundState) =>
  version.number === defaultVersion(model)?.number ? undefined : version.number;

/** The pinned version's ID for Replicate's clients. */
export const pinnedIdOf = (play: PlaygroundState) => {
  const pinned = pinnedOf(play);
  return pinned === undefined ? undefined : versionIdOf(play.model.id, pinned);
};

/** Whether a version's output is text that comes in parts. */
export const streamsText = ({ schemas }: Pick<VersionRow, "schemas">): boolean => {
  const { output, stream_output } = schemas.prediction;
  const { type, format } = fieldsOf(output.items);
  return stream_output && type === "string" && format === undefined;
};

export const samplesOf = (play: PlaygroundState, origin: string, input: Input) =>
  codeSamples({
    origin,
    model: referenceOf(play.model),
    version: pinnedOf(play),
    versionId: pinnedIdOf(play),
    input,
    compatibilities: play.version.compatibilities,
    streams: streamsText(play.version),
  });
