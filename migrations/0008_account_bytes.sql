CREATE TABLE `account_bytes` (
	`user_id` text PRIMARY KEY NOT NULL,
	`bytes` integer NOT NULL,
	`bytes_before` integer DEFAULT 0 NOT NULL,
	`swept_at` integer DEFAULT 0 NOT NULL
) WITHOUT ROWID;
--> statement-breakpoint
CREATE INDEX `account_bytes_swept` ON `account_bytes` (`swept_at`);--> statement-breakpoint
ALTER TABLE `models` ADD `last_version` integer DEFAULT 0 NOT NULL;--> statement-breakpoint
DELETE FROM tokens WHERE revoked_at IS NOT NULL;--> statement-breakpoint
ALTER TABLE `tokens` DROP COLUMN `revoked_at`;--> statement-breakpoint
UPDATE models SET last_version = (SELECT coalesce(max(number), 0) FROM versions WHERE model_id = models.id);--> statement-breakpoint
DELETE FROM versions WHERE deleted_at IS NOT NULL;--> statement-breakpoint
ALTER TABLE `versions` DROP COLUMN `deleted_at`;--> statement-breakpoint
-- By hand from here on (and WITHOUT ROWID above). What a row weighs is what it takes with its indices, seen
-- with random texts: a character that is searched for some 30 bytes, beside its own. A part of a pending
-- upload is counted before it comes, as the row that it will be.
INSERT INTO account_bytes (user_id, bytes) SELECT models.owner_id, sum(4096 + 32 * length(CAST(models.description AS BLOB)) + length(CAST(models.overview AS BLOB)) + 24 * length(CAST(substr(models.overview, 1, 4000) AS BLOB)) + length(coalesce(models.source_url, '') || coalesce(models.license_url, '') || coalesce(models.paper_url, '') || coalesce(models.cover_image_url, ''))) FROM models WHERE true GROUP BY 1
	ON CONFLICT (user_id) DO UPDATE SET bytes = bytes + excluded.bytes;
--> statement-breakpoint
INSERT INTO account_bytes (user_id, bytes) SELECT (SELECT owner_id FROM models WHERE id = versions.model_id), sum(512 + length(CAST(versions.release_notes AS BLOB)) + length(CAST(versions.schemas AS BLOB)) + length(CAST(versions.configuration AS BLOB))) FROM versions WHERE true GROUP BY 1
	ON CONFLICT (user_id) DO UPDATE SET bytes = bytes + excluded.bytes;
--> statement-breakpoint
INSERT INTO account_bytes (user_id, bytes) SELECT (SELECT owner_id FROM models WHERE id = model_variables.model_id), sum(256 + length(model_variables.sealed)) FROM model_variables WHERE true GROUP BY 1
	ON CONFLICT (user_id) DO UPDATE SET bytes = bytes + excluded.bytes;
--> statement-breakpoint
INSERT INTO account_bytes (user_id, bytes) SELECT tokens.user_id, sum(512 + length(CAST(tokens.name AS BLOB)) + length(coalesce(tokens.models, ''))) FROM tokens WHERE true GROUP BY 1
	ON CONFLICT (user_id) DO UPDATE SET bytes = bytes + excluded.bytes;
--> statement-breakpoint
INSERT INTO account_bytes (user_id, bytes) SELECT uploads.user_id, sum(512 + length(CAST(coalesce(uploads.name, '') AS BLOB)) + iif(uploads.completed_at IS NULL, 128 * (uploads.size / uploads.part_size + 1), 0)) FROM uploads WHERE true GROUP BY 1
	ON CONFLICT (user_id) DO UPDATE SET bytes = bytes + excluded.bytes;
--> statement-breakpoint
INSERT INTO account_bytes (user_id, bytes) SELECT predictions.user_id, sum(1024 + length(CAST(coalesce(predictions.error, '') AS BLOB)) + length(coalesce(predictions.metrics, ''))) FROM predictions WHERE true GROUP BY 1
	ON CONFLICT (user_id) DO UPDATE SET bytes = bytes + excluded.bytes;
--> statement-breakpoint
INSERT INTO account_bytes (user_id, bytes) SELECT usage.user_id, sum(192) FROM usage WHERE true GROUP BY 1
	ON CONFLICT (user_id) DO UPDATE SET bytes = bytes + excluded.bytes;
--> statement-breakpoint
CREATE TRIGGER models_weighed AFTER INSERT ON models BEGIN
	INSERT INTO account_bytes (user_id, bytes) VALUES (NEW.owner_id, 4096 + 32 * length(CAST(NEW.description AS BLOB)) + length(CAST(NEW.overview AS BLOB)) + 24 * length(CAST(substr(NEW.overview, 1, 4000) AS BLOB)) + length(coalesce(NEW.source_url, '') || coalesce(NEW.license_url, '') || coalesce(NEW.paper_url, '') || coalesce(NEW.cover_image_url, '')))
		ON CONFLICT (user_id) DO UPDATE SET bytes = bytes + excluded.bytes;
END;
--> statement-breakpoint
CREATE TRIGGER models_weighed_again AFTER UPDATE OF description, overview, source_url, license_url, paper_url, cover_image_url ON models BEGIN
	UPDATE account_bytes SET bytes = bytes + (4096 + 32 * length(CAST(NEW.description AS BLOB)) + length(CAST(NEW.overview AS BLOB)) + 24 * length(CAST(substr(NEW.overview, 1, 4000) AS BLOB)) + length(coalesce(NEW.source_url, '') || coalesce(NEW.license_url, '') || coalesce(NEW.paper_url, '') || coalesce(NEW.cover_image_url, ''))) - (4096 + 32 * length(CAST(OLD.description AS BLOB)) + length(CAST(OLD.overview AS BLOB)) + 24 * length(CAST(substr(OLD.overview, 1, 4000) AS BLOB)) + length(coalesce(OLD.source_url, '') || coalesce(OLD.license_url, '') || coalesce(OLD.paper_url, '') || coalesce(OLD.cover_image_url, '')))
		WHERE user_id = NEW.owner_id;
END;
--> statement-breakpoint
CREATE TRIGGER models_unweighed AFTER DELETE ON models BEGIN
	UPDATE account_bytes SET bytes = bytes - (4096 + 32 * length(CAST(OLD.description AS BLOB)) + length(CAST(OLD.overview AS BLOB)) + 24 * length(CAST(substr(OLD.overview, 1, 4000) AS BLOB)) + length(coalesce(OLD.source_url, '') || coalesce(OLD.license_url, '') || coalesce(OLD.paper_url, '') || coalesce(OLD.cover_image_url, '')))
		WHERE user_id = OLD.owner_id;
END;
--> statement-breakpoint
CREATE TRIGGER versions_weighed AFTER INSERT ON versions BEGIN
	INSERT INTO account_bytes (user_id, bytes) VALUES ((SELECT owner_id FROM models WHERE id = NEW.model_id), 512 + length(CAST(NEW.release_notes AS BLOB)) + length(CAST(NEW.schemas AS BLOB)) + length(CAST(NEW.configuration AS BLOB)))
		ON CONFLICT (user_id) DO UPDATE SET bytes = bytes + excluded.bytes;
END;
--> statement-breakpoint
CREATE TRIGGER versions_unweighed AFTER DELETE ON versions BEGIN
	UPDATE account_bytes SET bytes = bytes - (512 + length(CAST(OLD.release_notes AS BLOB)) + length(CAST(OLD.schemas AS BLOB)) + length(CAST(OLD.configuration AS BLOB)))
		WHERE user_id = (SELECT owner_id FROM models WHERE id = OLD.model_id);
END;
--> statement-breakpoint
CREATE TRIGGER model_variables_weighed AFTER INSERT ON model_variables BEGIN
	INSERT INTO account_bytes (user_id, bytes) VALUES ((SELECT owner_id FROM models WHERE id = NEW.model_id), 256 + length(NEW.sealed))
		ON CONFLICT (user_id) DO UPDATE SET bytes = bytes + excluded.bytes;
END;
--> statement-breakpoint
CREATE TRIGGER model_variables_weighed_again AFTER UPDATE OF sealed ON model_variables BEGIN
	UPDATE account_bytes SET bytes = bytes + (256 + length(NEW.sealed)) - (256 + length(OLD.sealed))
		WHERE user_id = (SELECT owner_id FROM models WHERE id = NEW.model_id);
END;
--> statement-breakpoint
CREATE TRIGGER model_variables_unweighed AFTER DELETE ON model_variables BEGIN
	UPDATE account_bytes SET bytes = bytes - (256 + length(OLD.sealed))
		WHERE user_id = (SELECT owner_id FROM models WHERE id = OLD.model_id);
END;
--> statement-breakpoint
CREATE TRIGGER tokens_weighed AFTER INSERT ON tokens BEGIN
	INSERT INTO account_bytes (user_id, bytes) VALUES (NEW.user_id, 512 + length(CAST(NEW.name AS BLOB)) + length(coalesce(NEW.models, '')))
		ON CONFLICT (user_id) DO UPDATE SET bytes = bytes + excluded.bytes;
END;
--> statement-breakpoint
CREATE TRIGGER tokens_unweighed AFTER DELETE ON tokens BEGIN
	UPDATE account_bytes SET bytes = bytes - (512 + length(CAST(OLD.name AS BLOB)) + length(coalesce(OLD.models, '')))
		WHERE user_id = OLD.user_id;
END;
--> statement-breakpoint
CREATE TRIGGER uploads_weighed AFTER INSERT ON uploads BEGIN
	INSERT INTO account_bytes (user_id, bytes) VALUES (NEW.user_id, 512 + length(CAST(coalesce(NEW.name, '') AS BLOB)) + iif(NEW.completed_at IS NULL, 128 * (NEW.size / NEW.part_size + 1), 0))
		ON CONFLICT (user_id) DO UPDATE SET bytes = bytes + excluded.bytes;
END;
--> statement-breakpoint
CREATE TRIGGER uploads_weighed_again AFTER UPDATE OF completed_at ON uploads BEGIN
	UPDATE account_bytes SET bytes = bytes + (512 + length(CAST(coalesce(NEW.name, '') AS BLOB)) + iif(NEW.completed_at IS NULL, 128 * (NEW.size / NEW.part_size + 1), 0)) - (512 + length(CAST(coalesce(OLD.name, '') AS BLOB)) + iif(OLD.completed_at IS NULL, 128 * (OLD.size / OLD.part_size + 1), 0))
		WHERE user_id = NEW.user_id;
END;
--> statement-breakpoint
CREATE TRIGGER uploads_unweighed AFTER DELETE ON uploads BEGIN
	UPDATE account_bytes SET bytes = bytes - (512 + length(CAST(coalesce(OLD.name, '') AS BLOB)) + iif(OLD.completed_at IS NULL, 128 * (OLD.size / OLD.part_size + 1), 0))
		WHERE user_id = OLD.user_id;
END;
--> statement-breakpoint
CREATE TRIGGER predictions_weighed AFTER INSERT ON predictions BEGIN
	INSERT INTO account_bytes (user_id, bytes) VALUES (NEW.user_id, 1024 + length(CAST(coalesce(NEW.error, '') AS BLOB)) + length(coalesce(NEW.metrics, '')))
		ON CONFLICT (user_id) DO UPDATE SET bytes = bytes + excluded.bytes;
END;
--> statement-breakpoint
CREATE TRIGGER predictions_weighed_again AFTER UPDATE OF error, metrics ON predictions WHEN (NEW.error, NEW.metrics) IS NOT (OLD.error, OLD.metrics) BEGIN
	UPDATE account_bytes SET bytes = bytes + (1024 + length(CAST(coalesce(NEW.error, '') AS BLOB)) + length(coalesce(NEW.metrics, ''))) - (1024 + length(CAST(coalesce(OLD.error, '') AS BLOB)) + length(coalesce(OLD.metrics, '')))
		WHERE user_id = NEW.user_id;
END;
--> statement-breakpoint
CREATE TRIGGER predictions_unweighed AFTER DELETE ON predictions BEGIN
	UPDATE account_bytes SET bytes = bytes - (1024 + length(CAST(coalesce(OLD.error, '') AS BLOB)) + length(coalesce(OLD.metrics, '')))
		WHERE user_id = OLD.user_id;
END;
--> statement-breakpoint
CREATE TRIGGER usage_weighed AFTER INSERT ON usage BEGIN
	INSERT INTO account_bytes (user_id, bytes) VALUES (NEW.user_id, 192)
		ON CONFLICT (user_id) DO UPDATE SET bytes = bytes + excluded.bytes;
END;
--> statement-breakpoint
CREATE TRIGGER usage_unweighed AFTER DELETE ON usage BEGIN
	UPDATE account_bytes SET bytes = bytes - (192)
		WHERE user_id = OLD.user_id;
END;
--> statement-breakpoint
CREATE TRIGGER versions_numbered AFTER INSERT ON versions BEGIN
	UPDATE models SET last_version = NEW.number WHERE id = NEW.model_id;
END;
--> statement-breakpoint
-- Before the model itself, while it still says whose they are.
CREATE TRIGGER models_emptied BEFORE DELETE ON models BEGIN
	DELETE FROM model_variables WHERE model_id = OLD.id;
END;
