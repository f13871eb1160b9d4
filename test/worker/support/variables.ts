/** Sets and lists variables of models. */
import { z } from "zod";
import { type Variable, variable } from "../../../src/protocol/variable.ts";
import type { Client } from "./client.ts";

/** @param model `owner/name` */
export const variablesAt = (model: string, name = "") =>
  `/v1/models/${model}/variables${name && `/${name}`}`;

export const setVariable = async (
  client: Client,
  model: string,
  name: string,
  value = "hunter2",
): Promise<Variable> => variable.parse(await client.ok("PUT", variablesAt(model, name), { value }));

export const listVariables = async (client: Client, model: string): Promise<Variable[]> =>
  z.object({ items: z.array(variable) }).parse(await client.ok("GET", variablesAt(model))).items;
