/**
 * Why jobs wait, with the names of all models and runners in the reasons. The callers decide who may see them
 * (domain/predictions/explanation.ts).
 */
import type { Explanation } from "./decide/explain.ts";
import type { ClassExplanation } from "./decide/explain-class.ts";

/** A model as it was named when a job of it was asked for. */
export interface NamedModel {
  /** `owner/name:version` */
  name: string;
  model_id: string;
  model_owner_id: string;
}

/** The model and image of a container; only the image if no job has asked for it lately. */
export interface ContainerName {
  /** `repository@digest` */
  image: string;
  model: NamedModel | null;
}

export interface NamedRunner {
  id: string;
  name: string;
  /** Why the runner has declined the job, or is set aside. */
  reason: string | null;
}

/** The runners of a class that are set aside, while no other one takes its jobs. */
export interface SetAside {
  runners: NamedRunner[];
  /** When the first of them is tried again, unix ms. */
  until: number;
}

export interface NamedExplanation extends Explanation {
  runners: NamedRunner[];
  /** Containers that are stopped to make room for the job. */
  stopped: ContainerName[];
  set_aside?: SetAside | undefined;
}

/** The explanation of all jobs of a class, with names. */
export interface NamedClassExplanation extends ClassExplanation {
  /** Names of the boxes in the reasons, by id. */
  names: Record<string, string>;
  set_aside?: SetAside | undefined;
}
