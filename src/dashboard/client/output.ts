/** The page of an output: its folded parts are made into nodes when they are opened. */
import { attachTrees } from "./parts/json-tree.ts";

attachTrees(document);
