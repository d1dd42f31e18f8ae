// What the strategies share around a Review: the objects as Fields, and the edits that most kinds make.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>

#include "apiserver/strategies/field.h"
#include "apiserver/strategy.h"

namespace gangway::apiserver {

// The object as it will be, and as it was (nothing exists in it on create). Causes go to the review.
Field new_object(Review& review);
Field old_object(Review& review);

// Edits move values: whoever adds a key to an object, even one that it has (Boost makes room first), must not go on
// using Fields, texts or references of that object's other values.

// Sets what stands at `path` back to what it was before the update, or removes it if it did not exist.
void keep_old(Review& review, std::initializer_list<std::string_view> path);
// A new object has no status of the user's; most kinds write an empty one, others none.
void reset_status(Review& review);

// 403: `pods "x" is forbidden: <why>`.
Error forbidden(const Review& review, std::string_view why);

// The fields of `before` and `after` that may not change, below one object ("spec" and the like).
void check_immutable(const Field& after, const Field& before, std::initializer_list<std::string_view> keys);

// Decodes an object of the committed state; null when there is none.
json::Value read_stored(const Facts& facts, const api::ResourceName& resource, std::string_view ns,
                        std::string_view name);

}  // namespace gangway::apiserver
