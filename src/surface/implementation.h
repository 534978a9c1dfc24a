#pragma once

#include <concepts>

#include "surface/tables.h"

namespace tenon::surface {

template <class Handle>
concept Layer = std::derived_from<Handle, nvinfer1::ILayer>;
template <class Handle>
concept BoundaryLayer = Layer<Handle> && requires {
  typename Tables<Handle>::Boundary;
};
/// Members of the handle ask for the object.
template <class Handle>
concept WithObject = requires(typename Tables<Handle>::Own& own) {
  own.getPImpl();
};

/// Bases of a class that implements a handle of the public headers: the handle itself, which
/// applications hold, and the virtual functions that its members call.
template <class Handle> class Implementation : public Handle, public Tables<Handle>::Own {
 protected:
  Implementation() noexcept { this->mImpl = this; }
};

template <WithObject Handle>
class Implementation<Handle> : public Handle, public Tables<Handle>::Own {
 public:
  Handle* getPImpl() noexcept final { return this; }

 protected:
  Implementation() noexcept { this->mImpl = this; }
};

template <Layer Handle>
class Implementation<Handle>
    : public Handle, public nvinfer1::apiv::VLayer, public Tables<Handle>::Own {
 protected:
  Implementation() noexcept {
    this->mLayer = this;
    this->mImpl = this;
  }
};

template <BoundaryLayer Handle>
class Implementation<Handle> : public Handle,
                               public nvinfer1::apiv::VLayer,
                               public Tables<Handle>::Boundary,
                               public Tables<Handle>::Own {
 protected:
  Implementation() noexcept {
    this->mLayer = this;
    this->mBoundary = this;
    this->mImpl = this;
  }
};

}  // namespace tenon::surface
