/** Values of earlier answers, so that later requests reach what those have made. */
import { z } from "zod";
import { backup } from "../../../../src/protocol/backup.ts";
import { budget } from "../../../../src/protocol/budget.ts";
import { deployment } from "../../../../src/protocol/deployment.ts";
import { example } from "../../../../src/protocol/example.ts";
import { fileAddress } from "../../../../src/protocol/file.ts";
import { runnerState } from "../../../../src/protocol/fleet.ts";
import { hardware } from "../../../../src/protocol/hardware.ts";
import { category, modelItem, version } from "../../../../src/protocol/model.ts";
import { conversation } from "../../../../src/protocol/openai/conversation.ts";
import { newToken } from "../../../../src/protocol/operator.ts";
import { prediction } from "../../../../src/protocol/prediction.ts";
import { type Upload, upload } from "../../../../src/protocol/upload.ts";
import { ownerA, userA } from "../../../../src/protocol/user.ts";
import { variable } from "../../../../src/protocol/variable.ts";
import { webhookEndpoint, webhookEvent } from "../../../../src/protocol/webhook.ts";
import { ORIGIN } from "../client.ts";

/** Values of path parameters that belong together, such as the owner and the name of one model. */
export type Place = Record<string, string>;

export interface Address {
  url: string;
  etag?: string | undefined;
  /** The body to send to the address. */
  body?: object;
}

/** Operations whose addresses are in the answers of others. */
const PART = "/uploads/{upload_id}/parts/{part_number}";
const COMPLETION = "/uploads/{upload_id}/complete";
const FILE = "/files/{source_id}/{file_name}";
const EXAMPLES = "/models/{model_owner}/{model_name}/examples";

/** The number of values kept of each kind: older ones are mostly renamed or gone. */
const KEPT = 20;

const model = modelItem.extend({ owner: ownerA, latest_version: version.nullish() });

const response = z.object({ id: z.string().startsWith("resp_"), object: z.literal("response") });

const placeOf = z.union([
  model.transform(({ name, owner, latest_version }) => ({
    model_owner: owner.username,
    model_name: name,
    ...(latest_version && { version_number: String(latest_version.number) }),
  })),
  // The prediction's model is left out, because it may have another name by now.
  prediction.transform(({ id }) => ({ prediction_id: id })),
  response.transform(({ id }) => ({ response_id: id })),
  conversation.transform(({ id }) => ({ conversation_id: id })),
  userA.transform(({ username }) => ({ username, model_owner: username })),
  hardware.transform(({ identifier }) => ({ identifier })),
  category.transform(({ slug }) => ({ slug })),
  runnerState.transform(({ id }) => ({ runner_id: id })),
  deployment.transform(({ owner, name }) => ({ deployment_owner: owner, deployment_name: name })),
  upload.transform(({ id, file_url }) => {
    const place: Place = { upload_id: id };
    const [, source_id, file_name] = /files\/(.+)\/(.+)\?/.exec(file_url ?? "") ?? [];
    return source_id && file_name ? { ...place, source_id, file_name } : place;
  }),
  webhookEvent.transform(({ id }) => {
    const [, prediction_id = ""] = id.split("_");
    return { prediction_id, event_id: id };
  }),
  webhookEndpoint.transform(({ id, secrets }) => {
    const [oldest] = secrets;
    return { endpoint_id: id, ...(oldest && { secret_id: oldest.id }) };
  }),
  backup.transform(({ id }) => ({ backup_id: id, part_number: "0" })),
  // Only new tokens are kept: a request that revoked a caller's token would end the test.
  newToken.transform(({ id }) => ({ token_id: id })),
]);

/** Items of a conversation; only their address names the conversation. */
const conversationItems = z.object({ data: z.array(z.object({ id: z.string() })) });
const ITEMS = /\/conversations\/([^/?]+)\/items/;

const EXAMPLES_OF = /\/models\/([^/]+)\/([^/]+)\/examples/;

const page = z.object({
  items: z.array(z.unknown()),
  next_url: z.string().nullable(),
  previous_url: z.string().nullable(),
});

export class Harvest {
  readonly #places = new Map<string, Place[]>();
  readonly #addresses = new Map<string, Address[]>();
  /** Usernames by the IDs of users. */
  readonly #usernames = new Map<string, string>();

  /**
   * @param path of the requested operation, as the document has it
   * @param known the harvested values of the request: a version does not name its model
   */
  take(path: string, { url, etag }: Address, body: unknown, known: Place | Address = {}): void {
    if (etag !== undefined) keep(this.#addresses, path, { url, etag });
    this.#takeAddresses(body);
    this.#takeItems(url, body);
    this.#takeExamples(url, body);
    const number = version.safeParse(body).data?.number;
    if (number !== undefined && !("url" in known))
      this.#keep({ ...known, version_number: String(number) });
    const variable_name = variable.strict().safeParse(body).data?.name;
    if (variable_name !== undefined && !("url" in known)) this.#keep({ ...known, variable_name });
    const budget_id = budget.safeParse(body).data?.id;
    if (budget_id !== undefined && !("url" in known))
      this.#keep({ ...(path.includes("{username}") && known), budget_id });
    const list = page.safeParse(body).data;
    for (const next of [list?.next_url, list?.previous_url])
      if (next) keep(this.#addresses, path, { url: next });
    for (const item of list?.items.slice(-3) ?? [body]) {
      this.#follow(item);
      const place: Place | undefined = placeOf.safeParse(item).data;
      if (place) this.#keep(place);
    }
  }

  #takeAddresses(body: unknown): void {
    const { data: one } = upload.safeParse(body);
    for (const url of one?.urls ?? []) keep(this.#addresses, PART, { url });
    if (one && isWhole(one)) {
      const etags = one.parts.map(({ etag }) => etag);
      keep(this.#addresses, COMPLETION, { url: `${one.url}/complete`, body: { etags } });
    }
    const url = one?.file_url ?? fileAddress.safeParse(body).data?.url;
    // An invitation has a URL that expires, too.
    if (url?.includes("/v1/files/")) keep(this.#addresses, FILE, { url });
  }

  #takeItems(url: string, body: unknown): void {
    const [, conversation_id] = ITEMS.exec(url) ?? [];
    const [last] = conversationItems.safeParse(body).data?.data.slice(-1) ?? [];
    if (conversation_id && last) this.#keep({ conversation_id, item_id: last.id });
  }

  /** Keeps the example of a model; only the address names the model. */
  #takeExamples(url: string, body: unknown): void {
    const [, model_owner, model_name] = EXAMPLES_OF.exec(url) ?? [];
    const { data: one } = example.safeParse(page.safeParse(body).data?.items.at(-1) ?? body);
    if (one && model_owner && model_name)
      this.#keep({ model_owner, model_name, example_id: one.id });
  }

  /** Keeps values that no single answer contains together. */
  put(place: Place): void {
    this.#keep(place);
  }

  /** Keeps a run that can be pinned, with the address to pin it at. */
  putRun(url: string, prediction_id: string): void {
    keep(this.#addresses, EXAMPLES, { url, body: { prediction_id } });
  }

  /** Keeps a body that an operation without parameters accepts. */
  putBody(path: string, body: object): void {
    keep(this.#addresses, path, { url: `${ORIGIN}/v1${path}`, body });
  }

  #keep = (place: Place) => keep(this.#places, Object.keys(place).join(), place);

  /**
   * Replaces the owner of known places by a user's new name, and keeps the old name, which can be released.
   */
  #follow(item: unknown): void {
    const user = userA.safeParse(item).data;
    if (!user) return;
    const before = this.#usernames.get(user.id);
    this.#usernames.set(user.id, user.username);
    if (before !== undefined && before !== user.username) this.#keep({ username: before });
    for (const place of [...this.#places.values()].flat())
      for (const owner of ["model_owner", "deployment_owner"])
        if (place[owner] === before) place[owner] = user.username;
  }

  /** Returns one of the places that have the most of these names, if any has one. @param nth -1 for the last one */
  place(names: string[], nth: number): Place | undefined {
    const known = (place: Place) => names.filter((name) => name in place).length;
    const places = [...this.#places.values()].flat();
    const most = Math.max(...places.map(known));
    // A request for a place that has nothing to do with it gets a 404, by which the place would be forgotten.
    if (most <= 0) return undefined;
    const best = places.filter((place) => known(place) === most);
    return best.at(nth % best.length);
  }

  /** Returns an address of the operation, or of a neighbouring page. */
  address(path: string, nth: number): Address | undefined {
    const addresses = this.#addresses.get(path) ?? [];
    return addresses[nth % addresses.length];
  }

  /** Removes a place or an address that a request did not find. */
  forget(one: Place | Address): void {
    const kinds: object[][] = [...this.#places.values(), ...this.#addresses.values()];
    for (const kept of kinds) if (kept.includes(one)) kept.splice(kept.indexOf(one), 1);
  }
}

/** Whether all parts of the upload have arrived. */
const isWhole = ({ parts, urls }: Upload) => parts.length > 0 && parts.length === urls.length;

function keep<Item>(kept: Map<string, Item[]>, kind: string, item: Item): void {
  kept.set(kind, [...(kept.get(kind) ?? []), item].slice(-KEPT));
}
