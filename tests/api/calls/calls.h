#pragma once

#include <map>
#include <set>

#include "values.h"

namespace api_calls {

/// Calls methods with the arguments of their types, and keeps what was wrong: failures that no
/// recorder was told of, and settings that are not what was set.
class Calls {
 public:
  template <class C, class R, class... P>
  void method(const std::string& name, R (C::*call)(P...) noexcept) {
    all<C, R, P...>(name, call);
  }
  template <class C, class R, class... P>
  void method(const std::string& name, R (C::*call)(P...) const noexcept) {
    all<C, R, P...>(name, call);
  }
  template <class C, class R, class... P> void method(const std::string& name, R (C::*call)(P...)) {
    all<C, R, P...>(name, call);
  }
  template <class C, class R, class... P>
  void method(const std::string& name, R (C::*call)(P...) const) {
    all<C, R, P...>(name, call);
  }
  /// `get` tells what `set` was given, where no error was recorded.
  template <class Set, class Get> void setting(const std::string& name, Set set, Get get) {
    read_back(name, set, get);
  }

  int64_t methods() const { return methods_; }
  int64_t calls() const { return calls_; }
  const std::set<std::string>& silent() const { return silent_; }
  const std::set<std::string>& without_object() const { return without_object_; }

 private:
  static bool is_question(const std::string& name);
  static int64_t errors(const World& world);
  void note(const World& world, int64_t before, const std::string& name, const std::string& given,
            bool failed);

  template <class C> static auto object(World& world) {
    if constexpr (std::is_same_v<C, nvonnxparser::IParserError>)
      return world.subject<const C>();
    else
      return world.subject<C>();
  }

  /// The object, with its arguments; f(world, object, kept...) for each set of them.
  template <class C, class... P, class F> void for_each(const std::string& name, F&& f) {
    World world;
    if (object<C>(world) == nullptr) {
      without_object_.insert(name);
      return;
    }
    ++methods_;
    const Values values(world, (kIsMemory<P> || ... || false));
    const std::tuple<std::vector<Kept<P>>...> choices(choices_of<P>(values)...);
    const std::vector<size_t> counts = std::apply(
        [](const auto&... values) { return std::vector<size_t>{values.size()...}; }, choices);
    for_each_set(counts, [&](const std::vector<size_t>& at) {
      pick(choices, at, std::index_sequence_for<P...>(), [&](const auto&... kept) {
        ++calls_;
        // A call may have made an end of the object.
        if (auto* subject = object<C>(world); subject != nullptr) f(world, *subject, kept...);
      });
    });
  }
  /// References are to objects.
  template <class P> static std::vector<Kept<P>> choices_of(const Values& values) {
    std::vector<Kept<P>> choices = values.of(Tag<Kept<P>>());
    if constexpr (std::is_reference_v<P>) std::erase(choices, nullptr);
    return choices;
  }
  template <class Choices, size_t... I, class F>
  static void pick(const Choices& choices, const std::vector<size_t>& at, std::index_sequence<I...>,
                   F&& f) {
    (void)at;
    f(static_cast<typename std::tuple_element_t<I, Choices>::value_type>(
        std::get<I>(choices)[at[I]])...);
  }
  static void for_each_set(const std::vector<size_t>& counts,
                           const std::function<void(const std::vector<size_t>&)>& f);

  template <class P> static P passed(const Kept<P>& kept) {
    if constexpr (std::is_reference_v<P>)
      return *kept;
    else
      return kept;
  }

  template <class C, class R, class... P, class M> void all(const std::string& name, M call);
  template <class R> bool failed(const std::string& name, R result);
  template <class C, class P, class R, class G>
  void setting_of(const std::string& name, R (C::*set)(P) noexcept, G get);
  template <class Set, class Get> void read_back(const std::string& name, Set set, Get get) {
    setting_of(name, set, get);
  }

  int64_t methods_ = 0, calls_ = 0;
  std::set<std::string> silent_, without_object_;
};

inline bool same(float a, float b) {
  return a == b || (std::isnan(a) && std::isnan(b));
}
inline bool same(double a, double b) {
  return a == b || (std::isnan(a) && std::isnan(b));
}
inline bool same(const char* a, const char* b) {
  return (a == nullptr ? std::string() : a) == (b == nullptr ? std::string() : b);
}
inline bool same(const Dims& a, const Dims& b) {
  return a.nbDims == b.nbDims &&
         (a.nbDims < 0 || a.nbDims > 8 || std::equal(a.d, a.d + a.nbDims, b.d));
}
inline bool same(const Weights& a, const Weights& b) {
  return a.type == b.type && a.count == b.count && (a.values == b.values || a.count == 0);
}
inline bool same(const Permutation& a, const Permutation& b) {
  return std::equal(a.order, a.order + 8, b.order);
}
template <class T> bool same(T a, T b) {
  return a == b;
}

template <class R> bool Calls::failed(const std::string& name, R result) {
  if constexpr (std::is_same_v<R, bool>) {
    return !result && !is_question(name);
  } else if constexpr (std::is_pointer_v<R>) {
    const bool none = result == nullptr;
    using Object = std::remove_pointer_t<R>;
    if constexpr (std::is_same_v<Object, IHostMemory> || std::is_same_v<Object, ICudaEngine> ||
                  std::is_same_v<Object, IExecutionContext> ||
                  std::is_same_v<Object, IBuilderConfig> ||
                  std::is_same_v<Object, INetworkDefinition> ||
                  std::is_same_v<Object, ISerializationConfig> ||
                  std::is_same_v<Object, IRuntimeConfig> ||
                  std::is_same_v<Object, IEngineInspector> ||
                  std::is_same_v<Object, ITimingCache> || std::is_same_v<Object, IRuntime>)
      delete result;
    return none && !is_question(name);
  } else {
    return false;
  }
}

template <class C, class R, class... P, class M> void Calls::all(const std::string& name, M call) {
  for_each<C, P...>(name, [&](World& world, auto& subject, const Kept<P>&... kept) {
    const int64_t before = errors(world);
    std::string given;
    ((given += (given.empty() ? "" : ", ") + described(kept)), ...);
    bool nothing = false;
    if constexpr (std::is_void_v<R> || std::is_reference_v<R>)
      (void)(subject.*call)(passed<P>(kept)...);
    else
      nothing = failed<R>(name, (subject.*call)(passed<P>(kept)...));
    note(world, before, name, given, nothing);
  });
}

template <class C, class P, class R, class G>
void Calls::setting_of(const std::string& name, R (C::*set)(P) noexcept, G get) {
  --methods_;  // Counted by method().
  for_each<C, P>(name, [&](World& world, auto& subject, const Kept<P>& kept) {
    const int64_t before = errors(world);
    if constexpr (std::is_same_v<R, bool>) {
      if (!(subject.*set)(passed<P>(kept))) return;
    } else {
      (subject.*set)(passed<P>(kept));
    }
    using T = std::remove_cv_t<std::remove_reference_t<P>>;
    const T& wanted = passed<P>(kept);
    note(world, before, name, described(kept) + " and its getter",
         !same(static_cast<T>((subject.*get)()), wanted));
  });
}

}  // namespace api_calls
