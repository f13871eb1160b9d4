CREATE TABLE `registry_released` (
	`model_id` text PRIMARY KEY NOT NULL,
	`after` text DEFAULT '' NOT NULL
);
--> statement-breakpoint
-- A model may have millions of tags: they go in steps, and not in the statement that deletes it.
DROP TRIGGER models_untagged;--> statement-breakpoint
CREATE TRIGGER models_released AFTER DELETE ON models
	WHEN EXISTS (SELECT 1 FROM registry_links WHERE model_id = OLD.id)
		OR EXISTS (SELECT 1 FROM registry_manifests WHERE model_id = OLD.id) BEGIN
	INSERT OR IGNORE INTO registry_released (model_id) VALUES (OLD.id);
END;
