/**
 * The deployment's own registry. Jobs and claims name its images without a host; Docker pulls and knows
 * them under the host of the deployment's URL, with the job's grant as the password.
 */
import type Dockerode from "dockerode";
import { modelOfRepository } from "../../../../src/protocol/registry.ts";
import type { Image } from "../../../../src/protocol/runner.ts";
import { internal } from "../../../../src/run/failure.ts";
import { referenceOf } from "../engine.ts";

/** The user name may be anything: the grant says whose it is. */
const USERNAME = "runner";

export const isOwnImage = ({ repository }: Image): boolean =>
  modelOfRepository(repository) !== undefined;

export class OwnRegistry {
  /** As Docker names the registry. */
  readonly host: string;
  readonly url: URL;

  /** @param url of the deployment */
  constructor(url: string) {
    this.url = new URL(url);
    this.host = registryHost(this.url);
  }

  /** `repository@digest` as Docker has it, exactly. */
  localReference(image: Image): string {
    return `${this.host}/${referenceOf(image)}`;
  }

  /** Returns an image's name as claims report it. */
  reportedReference(reference: string): string {
    const [repository = "", digest = ""] = reference.split("@");
    const path = repository.slice(this.host.length + 1);
    const isOwn = repository.startsWith(`${this.host}/`) && modelOfRepository(path) !== undefined;
    return isOwn ? `${path}@${digest}` : reference;
  }

  credentials({ grant }: Image): Dockerode.AuthConfigObject {
    if (grant === undefined) return {};
    return { username: USERNAME, password: grant, serveraddress: this.host };
  }
}

/** Docker takes the first part of a name for a registry only if it has a dot or a port. */
function registryHost({ protocol, host, hostname, port }: URL): string {
  if (port !== "" || hostname.includes(".") || hostname === "localhost") return host;
  return `${host}:${protocol === "https:" ? 443 : 80}`;
}

/** For an engine that was given no URL. */
export const noRegistry = () =>
  internal("this runner does not know the deployment whose registry has the image");
