/**
 * Why jobs wait, with the names of all that the reasons are about. Who may see them is decided by those
 * who show them (domain/predictions/explanation.ts).
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

/** What a container runs; of one that no job has asked for lately only the image is known. */
export interface ContainerName {
  /** `repository@digest` */
  image: string;
  model: NamedModel | null;
}

export interface NamedRunner {
  id: string;
  name: string;
  /** Why it has declined the job, or is set aside. */
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
  /** What is stopped to make room for it. */
  stopped: ContainerName[];
  set_aside?: SetAside | undefined;
}

/** The same for all jobs of a class. */
export interface NamedClassExplanation extends ClassExplanation {
  /** Of the boxes that it is about, by id. */
  names: Record<string, string>;
  set_aside?: SetAside | undefined;
}
