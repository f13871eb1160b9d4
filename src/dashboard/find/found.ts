/** What there is under some words: pages, actions, models, predictions by their ids, passages of the guides. */
import { ownerName } from "../../domain/accounts/owner-name.ts";
import { LEAST_ENDING } from "../../domain/predictions/id-part.ts";
import { uuid } from "../../protocol/common.ts";
import { predictionQuery } from "../../protocol/prediction.ts";
import { readPassages } from "../../services/assets.ts";
import { searchModels } from "../../services/models/search.ts";
import { findRow } from "../../services/predictions/find-row.ts";
import {
  type ListedPrediction,
  viewPredictions,
} from "../../services/predictions/prediction-view.ts";
import type { PageContext, Viewer } from "../context.ts";
import { findPassages } from "../docs/search/find.ts";
import { lookUpAddress } from "../users/look-up.tsx";
import { runners, users } from "./fleet-and-users.ts";
import type { Group, Item } from "./group.ts";
import { actionsFor, audiencesOf, findPlaces, pagesFor } from "./places.ts";

/** The longest query, as that of a search for models. */
export const MAX_QUERY = 50;

const MAX_PLACES = 6;
const MAX_MODELS = 8;
const MAX_PREDICTIONS = 5;
const MAX_PASSAGES = 4;

/** Without a query: where one can go, one's latest predictions, and what one can do. */
export async function findAll(c: PageContext, query: string): Promise<Group[]> {
  const groups = await Promise.all(query === "" ? offered(c) : named(c, query));
  return groups.filter(({ items }) => items.length > 0);
}

function offered(c: PageContext): (Group | Promise<Group>)[] {
  const audiences = audiencesOf(c.var.viewer);
  return [
    { name: "Pages", items: pagesFor(audiences) },
    latest(c),
    { name: "Actions", items: actionsFor(audiences) },
  ];
}

function named(c: PageContext, query: string): (Group | Promise<Group>)[] {
  const { viewer } = c.var;
  const places = findPlaces(audiencesOf(viewer), query).slice(0, MAX_PLACES);
  return [
    // In one list, because the first is what Enter opens: it is the one that is named best.
    { name: "Pages and actions", items: places },
    models(c, query),
    prediction(c, query),
    ...(viewer?.operator ? [runners(c, query), users(c, query)] : []),
    guides(c, query),
  ];
}

async function models(c: PageContext, query: string): Promise<Group> {
  const request = { cursor: undefined, size: MAX_MODELS, url: c.req.url };
  const { items } = await searchModels(c.var.services, c.var.viewer?.caller, query, request);
  return {
    name: "Models",
    items: items.map(({ owner, name, description }) => {
      const path = `${ownerName(owner)}/${name}`;
      return { address: `/models/${path}`, name: path, hint: description };
    }),
  };
}

async function latest(c: PageContext): Promise<Group> {
  const { viewer, services } = c.var;
  const request = { cursor: undefined, size: MAX_PREDICTIONS, url: c.req.url };
  const list = viewer
    ? await viewPredictions(
        services,
        viewer.caller,
        { statuses: [], page_size: request.size },
        request,
      )
    : undefined;
  return {
    name: "Latest predictions",
    items: (list?.items ?? []).map(itemOf),
  };
}

/** By a whole id, also of one that has begun just now, or by a part of one. */
async function prediction(c: PageContext, query: string): Promise<Group> {
  const { viewer, services } = c.var;
  const { data: id } = uuid.safeParse(query.toLowerCase());
  if (viewer && id === undefined)
    return { name: "Predictions", items: await byPart(c, viewer, query) };
  const row = viewer && id ? await findRow(services, viewer.caller.user_id, id) : undefined;
  const own = row && {
    address: `/predictions/${row.id}`,
    name: row.id,
    hint: `${row.status}, of ${row.model_owner}/${row.model_name}`,
  };
  // Whose it is takes a search through the accounts, which is not for every letter typed.
  const others = viewer?.operator &&
    id !== undefined && { address: lookUpAddress(id), name: id, hint: "look up as an operator" };
  return { name: "Predictions", items: [own || others].filter((item) => !!item) };
}

/**
 * By the end of an id as lists show it, or its beginning: the former looks through as many rows as a page of
 * the list (some 10 ms), and leads to the list for more. What is shorter is a word.
 */
async function byPart(c: PageContext, viewer: Viewer, query: string): Promise<Item[]> {
  const { data } = predictionQuery.safeParse({ id: query, page_size: MAX_PREDICTIONS });
  if (!data || query.length < LEAST_ENDING) return [];
  const request = { cursor: undefined, size: data.page_size, url: c.req.url };
  const list = await viewPredictions(c.var.services, viewer.caller, data, request);
  const more = {
    address: `/predictions?${new URLSearchParams({ id: query })}`,
    name: "Search all predictions",
    hint: `for the ID ${query}`,
  };
  return [...list.items.map(itemOf), ...(list.next_cursor === null ? [] : [more])];
}

const itemOf = ({ prediction: { id, status }, model }: ListedPrediction): Item => ({
  address: `/predictions/${id}`,
  name: model ?? "A model that is gone",
  hint: `${status}, ${id}`,
});

async function guides(c: PageContext, query: string): Promise<Group> {
  const found = findPassages(await readPassages(c.env), query).slice(0, MAX_PASSAGES);
  return {
    name: "Documentation",
    items: found.map(({ path, id, title, page }) => ({
      address: id === "" ? path : `${path}#${id}`,
      name: title,
      hint: page,
    })),
  };
}
